import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { loadConfig as loadGatewayConfig } from '../../gateway/platform/config/config.ts';
import { loadServices } from '../../gateway/upstream/load-services.ts';
import { loadConfig as loadPetsConfig } from '../../pets-service/config.ts';
import {
  assertSchema,
  buildOverlay,
  findManifest,
  findUnknownFields,
  hasKustomize,
  type Manifest,
} from '../support/containers/kubernetes.ts';
import { settingsOf as knownSettings } from '../support/containers/settings.ts';
import { send } from '../support/http/http.ts';
import { startGateway, startPetsService } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';
import { createDatabase } from '../support/stores/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFile(join(root, path), 'utf8');

interface Probe {
  httpGet: { path: string; port: string };
}

interface PodSpec {
  enableServiceLinks: boolean;
  terminationGracePeriodSeconds: number;
  topologySpreadConstraints: { topologyKey: string }[];
  containers: {
    image: string;
    command?: string[];
    env?: { name: string; value: string }[];
    ports: { name: string; containerPort: number }[];
    resources: { requests: Record<string, string>; limits: Record<string, string> };
    volumeMounts: { mountPath: string }[];
    startupProbe: Probe;
    readinessProbe: Probe;
    livenessProbe: Probe;
  }[];
  volumes: { secret: { secretName: string } }[];
}

/** The fields of all kinds that are looked at here: each kind has some of them. */
interface Resource extends Manifest {
  data: Record<string, string>;
  spec: {
    replicas?: number;
    template: { metadata: { labels: Record<string, string> }; spec: PodSpec };
    podSelector: { matchLabels: Record<string, string> };
    ingress?: { from: object[]; ports: { port: string | number }[] }[];
    egress: { to: { podSelector?: { matchLabels: Record<string, string> } }[]; ports: { port: number }[] }[];
    selector: Record<string, string> & { matchLabels: Record<string, string> };
    ports: { name: string; port: number; targetPort: string }[];
    endpoints: { port: string; path: string }[];
    scaleTargetRef: { kind: string; name: string };
    minReplicas: number;
    maxReplicas: number;
    maxUnavailable: number;
  };
}

const zones = ['one-zone', 'three-zones'];
const folderOf = (name: string) => `${name === 'gateway' ? 'gateway/deploy' : name}/kubernetes`;
const overlays = [
  ...['gateway', 'pets-service'].flatMap((name) => zones.map((zone) => `${folderOf(name)}/${zone}`)),
  'pets-service/kubernetes/migration',
];
const build = (path: string) => buildOverlay(path) as Resource[];
const find = findManifest<Resource>;
const built = new Map(hasKustomize ? overlays.map((path) => [path, build(path)]) : []);

function objectsOf(path: string): Resource[] {
  const found = built.get(path);
  if (found === undefined) throw new Error(`${path} is not built`);
  return found;
}

const workloadOf = (path: string) => find(objectsOf(path), path.endsWith('migration') ? 'Job' : 'Deployment');

function containerOf(path: string) {
  const { containers } = workloadOf(path).spec.template.spec;
  const [container] = containers;
  if (container === undefined || containers.length > 1) throw new Error(`${path} has not one container`);
  return container;
}

const settingsOf = (path: string) => find(objectsOf(path), 'ConfigMap').data;

const services = [
  { name: 'gateway', loadConfig: loadGatewayConfig },
  { name: 'pets-service', loadConfig: loadPetsConfig },
];
const perService = services.flatMap((service) =>
  zones.map((zone) => ({ ...service, overlay: `${folderOf(service.name)}/${zone}` })),
);

describe('the manifests', { tags: ['kubectl'] }, () => {
  test.each(overlays)('of %s have the schemas of their kinds', async (path) => {
    for (const manifest of objectsOf(path))
      await expect(assertSchema(manifest), manifest.kind).resolves.toBeUndefined();
  });

  test('have no field that their kinds do not have', { timeout: 120_000 }, async () => {
    expect(await findUnknownFields(overlays.flatMap(objectsOf))).toEqual([]);
  });

  test('of the gateway can have a services file in a ConfigMap, whose change replaces the pods', async () => {
    await using directory = await temporaryDirectory();
    const from = (path: string) => relative(directory.path, join(root, 'gateway/deploy/kubernetes', path));
    const overlay = { resources: [from('base')], components: [from('image'), from('services-file')] };
    await writeFile(join(directory.path, 'kustomization.yaml'), JSON.stringify(overlay));
    const objects = build(relative(root, directory.path));
    for (const manifest of objects) await expect(assertSchema(manifest)).resolves.toBeUndefined();
    const deployment = find(objects, 'Deployment');
    const { containers, volumes } = deployment.spec.template.spec;
    const mount = { name: 'services', mountPath: '/etc/gateway/services', readOnly: true };
    expect(containers[0]?.volumeMounts).toContainEqual(mount);
    const configMaps = objects.filter(({ kind }) => kind === 'ConfigMap');
    const withField = (name: string) =>
      find(
        configMaps.filter(({ data }) => data[name] !== undefined),
        'ConfigMap',
      );
    const { metadata, data } = withField('services.yaml');
    const { data: settings } = withField('SERVICES_FILE');
    // A name of the content.
    expect(metadata.name).toMatch(/^gateway-services-\w+$/);
    expect(volumes).toContainEqual({ name: 'services', configMap: { name: metadata.name } });
    expect(settings['SERVICES_FILE']).toBe(`${mount.mountPath}/${Object.keys(data)[0]}`);
    const file = join(directory.path, 'services.yaml');
    await writeFile(file, (data['services.yaml'] ?? '').replace('/app/', `${root}/`));
    const secret = join(directory.path, 'redis-url');
    await writeFile(secret, 'redis://127.0.0.1:1');
    const config = loadGatewayConfig({ ...settings, SERVICES_FILE: file, REDIS_URL_FILE: secret });
    expect(loadServices(config).services).toMatchObject([
      { name: 'pets-service', urls: ['http://pets-service:3001'] },
    ]);
  });

  test.each(overlays)('of %s run like the containers of docker-compose.yml', (path) => {
    const { spec } = workloadOf(path).spec.template;
    // Kubernetes would set GATEWAY_PORT=tcp://… for a Service named gateway.
    expect(spec.enableServiceLinks).toBe(false);
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        fsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    const container = containerOf(path);
    expect(container).toMatchObject({
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    });
    for (const resource of ['cpu', 'memory']) {
      expect(container.resources.requests).toHaveProperty(resource);
      expect(container.resources.limits).toHaveProperty(resource);
    }
  });

  test.each(overlays)('of %s are in the namespace of the documents', (path) => {
    const namespaces = new Set(objectsOf(path).map(({ metadata }) => metadata.namespace));
    expect([...namespaces]).toEqual(['animal-store']);
  });
});

describe.each(perService)('$overlay', { tags: ['kubectl'] }, ({ name, loadConfig, overlay }) => {
  const settings = () => settingsOf(overlay);

  /** Files of the Secret in a folder of this machine, and the settings that name them. */
  async function withSecrets(directory: string): Promise<Record<string, string>> {
    const [mount] = containerOf(overlay).volumeMounts;
    const paths = Object.values(settings()).filter((value) => value.startsWith(`${mount?.mountPath}/`));
    for (const path of paths) {
      const url = path.endsWith('redis-url') ? 'redis://redis:6379' : 'postgresql://pets@postgres/pets';
      await writeFile(join(directory, basename(path)), url);
    }
    return Object.fromEntries(
      Object.entries(settings()).map(([key, value]) => [
        key,
        paths.includes(value) ? join(directory, basename(value)) : value,
      ]),
    );
  }

  test('has settings that exist, with valid values', async () => {
    await using directory = await temporaryDirectory();
    expect(knownSettings[name]).toEqual(expect.arrayContaining(Object.keys(settings())));
    const config = loadConfig(await withSecrets(directory.path));
    expect(JSON.stringify(config)).toMatch(/"(redisUrl|DATABASE_URL)":"/);
    expect(JSON.stringify(config)).not.toContain('/run/secrets');
  });

  test('waits longer than the service drains before it kills it', () => {
    const drainMs = Number(settings()['SHUTDOWN_DELAY_MS']) + Number(settings()['SHUTDOWN_TIMEOUT_MS']);
    const graceMs = workloadOf(overlay).spec.template.spec.terminationGracePeriodSeconds * 1000;
    // The stores are closed after the drain.
    expect(graceMs).toBeGreaterThanOrEqual(drainMs + 5000);
  });

  test('takes its secrets from the files that DEPLOY.md puts into the Secret', async () => {
    const [mount] = containerOf(overlay).volumeMounts;
    const [volume] = workloadOf(overlay).spec.template.spec.volumes;
    const document = await read('gateway/DEPLOY.md');
    const created = new RegExp(
      String.raw`create secret generic ${volume?.secret.secretName} \\\n +(--from-file=.+)`,
    ).exec(document);
    const files = Array.from((created?.[1] ?? '').matchAll(/--from-file=(\S+)/g), ([, file = '']) => file);
    const named = Object.values(settings()).filter((value) => value.startsWith('/run/secrets/'));
    expect(named.map((path) => dirname(path))).toEqual(named.map(() => mount?.mountPath));
    expect(named.map((path) => basename(path)).toSorted()).toEqual(files.toSorted());
  });

  test('is reached on ports that the service listens on', async () => {
    await using directory = await temporaryDirectory();
    const config = loadConfig(await withSecrets(directory.path));
    const listens = new Map([['http', 'adminPort' in config ? config.port : config.PETS_SERVICE_PORT]]);
    if ('adminPort' in config) listens.set('admin', config.adminPort);
    const { ports, startupProbe, readinessProbe, livenessProbe } = containerOf(overlay);
    expect(ports).toEqual(Array.from(listens, ([port, containerPort]) => ({ name: port, containerPort })));
    // On loopback, neither probes nor other pods would reach it.
    expect('adminHost' in config ? config.adminHost : config.PETS_SERVICE_HOST).toBe('0.0.0.0');
    const health = 'adminPort' in config ? 'admin' : 'http';
    for (const { httpGet } of [startupProbe, readinessProbe, livenessProbe])
      expect(httpGet.port).toBe(health);

    const labels = workloadOf(overlay).spec.template.metadata.labels;
    for (const manifest of objectsOf(overlay).filter(({ kind }) => kind === 'Service')) {
      const { spec } = manifest;
      expect(labels).toMatchObject(spec.selector);
      for (const { targetPort } of spec.ports) expect(listens.has(targetPort)).toBe(true);
    }
    const { spec } = find(objectsOf(overlay), 'NetworkPolicy', name);
    expect(labels).toMatchObject(spec.podSelector.matchLabels);
    for (const { ports: allowed } of spec.ingress ?? [])
      for (const { port } of allowed) expect(listens.has(String(port))).toBe(true);
  });
});

describe.each(services)('$name', { tags: ['kubectl', 'postgresql'], timeout: 120_000 }, ({ name }) => {
  const overlay = `${folderOf(name)}/one-zone`;

  test('has probes and metrics where the service has them', async () => {
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(await temporaryDirectory());
    const { PETS_SERVICE_HOST: _host, ...env } = Object.fromEntries(
      Object.entries(settingsOf(overlay)).filter(([, value]) => !value.startsWith('/run/secrets')),
    );
    const shared = { ...env, DATA_DIR: directory.path, SHUTDOWN_DELAY_MS: '0' };
    const service =
      name === 'gateway'
        ? stack.use(await startGateway({ ...shared, REDIS_URL: stack.use(await startAnyRedis()).url }))
        : stack.use(await startPetsService({ ...shared, DATABASE_URL: await createDatabase() }));
    const url = name === 'gateway' ? service.adminUrl : service.url;
    const { startupProbe, readinessProbe, livenessProbe } = containerOf(overlay);
    const { endpoints } = find(objectsOf(overlay), 'ServiceMonitor').spec;
    const paths = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet.path);
    for (const path of [...paths, ...endpoints.map((endpoint) => endpoint.path)])
      await expect.poll(async () => (await send(url + path)).status, { message: path }).toBe(200);
  });
});

describe('both services', { tags: ['kubectl'] }, () => {
  test.each(zones)('find each other in %s', (zone) => {
    const gateway = objectsOf(`gateway/deploy/kubernetes/${zone}`);
    const pets = objectsOf(`pets-service/kubernetes/${zone}`);
    const service = find(pets, 'Service', 'pets-service');
    const [port] = service.spec.ports;
    expect(settingsOf(`gateway/deploy/kubernetes/${zone}`)['PETS_SERVICE_URL']).toBe(
      `http://${service.metadata.name}:${port?.port}`,
    );
    const labels = workloadOf(`pets-service/kubernetes/${zone}`).spec.template.metadata.labels;
    const { egress } = find(gateway, 'NetworkPolicy').spec;
    const toPets = egress.filter(({ to }) =>
      to.some(
        ({ podSelector }) =>
          podSelector?.matchLabels['app.kubernetes.io/name'] === labels['app.kubernetes.io/name'],
      ),
    );
    expect(toPets.flatMap(({ ports }) => ports)).toEqual([{ port: port?.port }]);
    const { ingress = [] } = find(pets, 'NetworkPolicy').spec;
    expect(ingress.flatMap(({ from }) => from)).toContainEqual({
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'gateway' } },
    });
  });

  test('the migration runs the image of the service, as another role, before it', async () => {
    const path = 'pets-service/kubernetes/migration';
    const migration = containerOf(path);
    const service = containerOf('pets-service/kubernetes/one-zone');
    expect(migration.image).toBe(service.image);
    expect(migration.image).toMatch(/:\d+\.\d+\.\d+$/);
    expect(migration.command?.at(-1)).toBe('prisma/migrate.ts');
    const source = await read('prisma/database-url.ts');
    const settings = (migration.env ?? []).map((variable) => variable.name);
    for (const setting of settings.filter((other) => other !== 'NODE_ENV'))
      expect(source).toContain(`'${setting}'`);
    const secretOf = (overlay: string) =>
      workloadOf(overlay).spec.template.spec.volumes.map(({ secret }) => secret.secretName);
    expect(secretOf(path)).not.toEqual(secretOf('pets-service/kubernetes/one-zone'));
  });
});
