import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { loadConfig } from '../../platform/config/config.ts';
import { browserHost } from '../../platform/config/endpoints.ts';
import { loadApiDescription } from '../../upstream/api-description.ts';
import { loadServices } from '../../upstream/load-services.ts';
import { petsServiceName } from '../../upstream/pets-service.ts';

/*
 * `npm start`: runs both services on this machine, with demo data and a key to try them; the gateway alone, if SERVICES_FILE has no
 * pets service. Each is a process of its own, as in production; this one starts them, prints how to use them, and stops them together.
 */

const readySchema = z.object({
  type: z.literal('ready'),
  port: z.number(),
  adminPort: z.number().optional(),
  demoKey: z.string().optional(),
  consoleLink: z.string().optional(),
});

type Ready = z.infer<typeof readySchema>;

const root = fileURLToPath(new URL('../../..', import.meta.url));
const services = new Map<string, ChildProcess>();
let stopping = false;

/** Starts a service. Resolves when it serves. */
function launch(name: string, script: string): Promise<Ready> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
    cwd: root,
    // `node --watch` (npm run dev) would have the services report their imports to this process.
    env: { DEMO: 'true', ...process.env, WATCH_REPORT_DEPENDENCIES: undefined },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // A process group of its own: Ctrl-C reaches only this process, which stops the services in order.
    detached: true,
  });
  const ready = Promise.withResolvers<Ready>();
  services.set(name, child);
  child.on('message', (message) => ready.resolve(readySchema.parse(message)));
  child.on('exit', (code, signal) => {
    services.delete(name);
    if (stopping) return;
    // With exit code 1 the service itself has printed the reason.
    if (code !== 1) process.stderr.write(`${name} ended unexpectedly (${signal ?? `exit code ${code}`})\n`);
    void stopAll(1);
  });
  return ready.promise;
}

/** Stops the gateway first: its requests in flight still need the pets service. */
async function stopAll(exitCode: number, signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
  if (stopping) {
    // A second signal: the services stop waiting for requests in flight.
    for (const child of services.values()) child.kill(signal);
    return;
  }
  stopping = true;
  for (const name of ['gateway', 'pets-service']) {
    const child = services.get(name);
    if (child === undefined) continue;
    child.kill(signal);
    await once(child, 'exit');
  }
  process.exit(exitCode);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stopAll(0, signal));
// The terminal was closed. Not passed on: a gateway with a services file would read that again.
process.on('SIGHUP', () => void stopAll(0));

const healthSchema = z.object({ services: z.record(z.string(), z.record(z.string(), z.string())) });

/** The gateway looks for a service that it did not find at its start twice a second. The first request must find it. */
async function untilPetsAreReached(admin: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const response = await fetch(`${admin}/readyz`).catch(() => undefined);
    const { data } = healthSchema.safeParse(await response?.json().catch(() => undefined));
    if (data === undefined || Object.values(data.services[petsServiceName] ?? {}).includes('ready')) return;
    await sleep(50);
  }
}

/** What the gateway will serve; undefined if its settings are invalid, which it then says itself. */
function readApi() {
  try {
    const { services: found, api: settings } = loadServices(loadConfig(process.env));
    const { operations, basePath } = loadApiDescription(undefined, found, settings);
    const example = operations.find(({ route, method }) => method === 'GET' && !route.includes('{'));
    const hasPets = found.some(({ name }) => name === petsServiceName);
    return { basePath, hasPets, example: example?.route.replace(/\*$/, '') ?? `${basePath}/usage` };
  } catch {
    return undefined;
  }
}

const { basePath, hasPets, example } = readApi() ?? { basePath: '', hasPets: true, example: '' };
const [gateway, pets] = await Promise.all([
  launch('gateway', 'gateway/server.ts'),
  hasPets ? launch('pets-service', 'pets-service/server.ts') : undefined,
]);

const api = `http://${browserHost(process.env['GATEWAY_HOST'])}:${gateway.port}`;
const admin = `http://${browserHost(process.env['GATEWAY_ADMIN_HOST'])}:${gateway.adminPort}`;
const petsService = `http://${browserHost(process.env['PETS_SERVICE_HOST'])}:${pets?.port}`;
if (pets !== undefined) await untilPetsAreReached(admin);
const tryIt =
  gateway.demoKey === undefined
    ? [
        '  There is no demo key; the log above says why. When Redis is available:',
        '',
        '  npm run --silent ops -- keys issue --plan free --name me',
      ]
    : [
        '  Try it (a key on the Free plan):',
        '',
        `  curl -i -H 'Authorization: Bearer ${gateway.demoKey}' ${api}${example}`,
      ];
const lines = [
  '',
  `  API            ${api}${basePath}`,
  `  Documentation  ${api}/docs`,
  `  Description    ${api}/openapi.json`,
  `  Metrics        ${admin}/metrics`,
  `  Console        ${gateway.consoleLink ?? 'npm run --silent ops -- console'}`,
  ...(pets === undefined ? [] : [`  Pets service   ${petsService} (internal: needs a service token)`]),
  '',
  ...tryIt,
  '',
  '  Ctrl-C stops everything.',
];
process.stdout.write(`${lines.join('\n')}\n\n`);
