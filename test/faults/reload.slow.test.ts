import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readAudit } from '../../gateway/operations/audit-log.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { keyId } from '../../gateway/upstream/internal-token.ts';
import { freePort } from '../support/http/free-port.ts';
import { send } from '../support/http/http.ts';
import { descriptions, startReloadKit, type ReloadKit } from '../support/kits/reload-kit.ts';
import { runOps, startGateway } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { isRunning, threeWorkers, waitForWorkers, workers } from '../support/kits/worker-processes.ts';
import { startLoad } from '../support/load/steady-load.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe.each([
  { name: 'a gateway of one process', env: {}, processes: 1 },
  { name: 'a gateway with three workers', env: threeWorkers, processes: workers },
])('$name', ({ env, processes }) => {
  let kit: ReloadKit;
  beforeEach(async () => {
    kit = await startReloadKit(env);
  });
  afterEach(() => kit[Symbol.asyncDispose]());

  const orders = async () => (await kit.get('/v1/orders')).status;
  const services = async () => {
    const { json } = await send(`${kit.gateway.adminUrl}/readyz`);
    return (json as { services: Record<string, Record<string, string>> }).services;
  };
  const metrics = async () => (await send(`${kit.gateway.adminUrl}/metrics`)).text;

  test('SIGHUP: routes, documents, health and metrics follow the file', async () => {
    await using upstream = await startUpstream();
    expect(await orders()).toBe(404);
    await kit.write(kit.withOrders([upstream.url]));
    kit.gateway.signal('SIGHUP');
    await expect.poll(services).toMatchObject({ orders: { [upstream.url]: 'ready' } });
    await expect.poll(orders).toBe(200);
    const document = await send(`${kit.gateway.url}/openapi.json`);
    expect(document.text).toContain('"/orders"');
    expect((await send(`${kit.gateway.url}/docs/reference`)).text).toContain('/v1/orders');
    const gauge = `gateway_upstream_up{service="orders",upstream="${upstream.url}"} 1`;
    expect(await metrics()).toContain(gauge);
    expect(await metrics()).toContain('gateway_upstream_duration_seconds_count{service="orders"} 1');

    await kit.write(kit.onlyPets());
    kit.gateway.signal('SIGHUP');
    await expect.poll(services).toEqual({ 'pets-service': { [kit.pets.url]: 'ready' } });
    await expect.poll(orders).toBe(404);
    expect((await send(`${kit.gateway.url}/openapi.json`)).text).not.toContain('"/orders"');
    const after = await metrics();
    expect(after).not.toContain(`upstream="${upstream.url}"`);
    // Counts stay, so that no graph sees them fall.
    expect(after).toContain('gateway_upstream_duration_seconds_count{service="orders"} 1');
    expect((await kit.get('/v1/pets')).status).toBe(200);
  });

  test('ops services reload: all processes serve the file when it returns, and the audit log says who', async () => {
    await using upstream = await startUpstream();
    await kit.write(kit.withOrders([upstream.url]));
    const { code, stdout, stderr } = await kit.reload('--as', 'Ann', '--reason', 'OPS-7');
    expect({ code, stderr: stderr.replaceAll(/^ops: warning: .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^\S+ \(127\.0\.0\.1:\d+\) is reloaded: revision [\da-f]{12}\n$/);
    const statuses = await Promise.all(Array.from({ length: 4 * processes }, newConnection('/v1/orders')));
    expect(new Set(statuses)).toEqual(new Set([200]));
    const [entry] = await readAudit(kit.redis, 1);
    expect(entry).toMatchObject({ who: 'Ann', action: 'services.reload', reason: 'OPS-7' });
    expect(await kit.redis.ttl(redisKeys.reload)).toBeGreaterThan(0);
  });

  /** The next connection goes to the next worker. */
  const newConnection = (path: string) => async () =>
    (await send(`${kit.gateway.url}${path}`, { key: kit.key, headers: { connection: 'close' } })).status;

  test('a bad file changes nothing, and is told with file, line and reason', async () => {
    await using upstream = await startUpstream();
    await kit.write(kit.withOrders([upstream.url]));
    const { stdout: first } = await kit.reload('--json');
    const { gateways } = JSON.parse(first) as { gateways: { revision: string }[] };
    const [{ revision } = { revision: '' }] = gateways;

    await kit.write(`services:\n  orders: { description: none.yaml, urls: ['${upstream.url}'] }\n`);
    const { code, stdout } = await kit.reload();
    expect(code).toBe(1);
    const issue = "SERVICES_FILE: services.yaml:2:13: none.yaml can't be read";
    expect(stdout).toMatch(new RegExp(`^\\S+ \\(\\S+\\) goes on with revision ${revision}: ${issue}`));
    expect(kit.gateway.output()).toMatch(
      new RegExp(`"level":50,.*"issues":\\["${issue}.*"msg":"reload is refused; nothing is changed"`),
    );
    expect(await orders()).toBe(200);
    const status = await runOps(['status'], { REDIS_URL: kit.redisUrl });
    expect([status.code, status.stdout]).toEqual([
      1,
      expect.stringMatching(/has refused to reload its files\n.*none\.yaml can't be read/),
    ]);

    // The file is valid, a description is not.
    const description = join(kit.directory, 'orders.yaml');
    const text = await readFile(descriptions.orders, 'utf8');
    await writeFile(description, text.replace('operationId: listOrders', 'operationId: list orders'));
    await kit.write({ ...kit.onlyPets(), orders: { description, urls: [upstream.url] } });
    const refused = await kit.reload('--json');
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toEqual({
      gateways: [
        {
          host: expect.any(String),
          adminAddress: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
          outcome: 'refused',
          revision,
          issues: [expect.stringMatching(/orders\.yaml:\d+:\d+: GET \/orders has no operationId/)],
        },
      ],
    });
    expect(await orders()).toBe(200);
    expect((await kit.get('/v1/pets')).status).toBe(200);

    await writeFile(description, text);
    expect((await kit.reload()).code).toBe(0);
    expect(await orders()).toBe(200);
  });

  test('a request in flight at a removed service and one at a moved instance finish', async () => {
    await using upstream = await startUpstream();
    await using moved = await startUpstream();
    await kit.write(kit.withOrders([upstream.url]));
    expect((await kit.reload()).code).toBe(0);
    const held: (() => void)[] = [];
    for (const each of [upstream, kit.pets]) {
      const { response } = each;
      each.response = (req, res, body) => held.push(() => response(req, res, body));
    }
    const inFlight = [kit.get('/v1/orders'), kit.get('/v1/pets')];
    await expect.poll(() => held.length).toBe(2);
    await kit.write(kit.onlyPets([moved.url]));
    expect((await kit.reload()).code).toBe(0);
    expect(await orders()).toBe(404);
    expect((await kit.get('/v1/pets')).status).toBe(200);
    expect(moved.seen).toHaveLength(1);
    for (const finish of held) finish();
    expect((await Promise.all(inFlight)).map(({ status }) => status)).toEqual([200, 200]);
    await expect.poll(() => upstream.connections()).toBe(0);
    await expect.poll(() => kit.pets.connections()).toBe(0);
  });

  test('reloads leave no listeners behind, of which Node would warn', async () => {
    await using upstream = await startUpstream();
    for (const added of [true, false, true, false, true, false, true, false, true, false]) {
      await kit.write(added ? kit.withOrders([upstream.url]) : kit.onlyPets());
      kit.gateway.signal('SIGHUP');
      await expect.poll(orders).toBe(added ? 200 : 404);
      for (let process = 0; process < processes; process += 1) await kit.get('/v1/pets');
    }
    expect(kit.gateway.output()).not.toContain('MaxListenersExceededWarning');
  });

  test('an ejected instance stays ejected, and its service keeps its connections', async () => {
    await using upstream = await startUpstream();
    const down = `http://127.0.0.1:${await freePort()}`;
    await kit.write(kit.withOrders([upstream.url, down]));
    expect((await kit.reload()).code).toBe(0);
    await expect.poll(services).toMatchObject({ orders: { [upstream.url]: 'ready', [down]: 'down' } });
    const other = `http://127.0.0.1:${await freePort()}`;
    await kit.write(kit.withOrders([upstream.url, down, other], { timeoutMs: 900 }));
    expect((await kit.reload()).code).toBe(0);
    const { orders: states } = await services();
    expect(states).toMatchObject({ [upstream.url]: 'ready', [down]: 'down' });
  });

  test('a new private key signs the tokens, and an invalid one is refused', async () => {
    await kit.get('/v1/pets');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const file = join(kit.directory, 'internal-token', 'private.pem');
    await writeFile(file, 'no key');
    const refused = await kit.reload();
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/has no unencrypted private key in PEM format\n$/);
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect((await kit.reload()).code).toBe(0);
    await Promise.all(Array.from({ length: 4 * processes }, newConnection('/v1/pets')));
    const keyIds = kit.pets.seen.slice(-processes).map(({ headers }) => {
      const [header = ''] = (headers.authorization ?? '').slice('Bearer '.length).split('.');
      return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid;
    });
    expect(new Set(keyIds)).toEqual(new Set([keyId(privateKey)]));
  });
});

test('what the file says of the API is reloaded; another key prefix needs a restart', async () => {
  await using kit = await startReloadKit();
  const services = kit.onlyPets();
  await kit.write(JSON.stringify({ api: { title: 'Zoo API' }, services }));
  expect((await kit.reload()).code).toBe(0);
  const { json } = await send(`${kit.gateway.url}/openapi.json`);
  expect(json).toMatchObject({ info: { title: 'Zoo API' } });
  expect((await send(`${kit.gateway.url}/docs`)).text).toContain('Zoo API');
  await kit.write(JSON.stringify({ api: { keyPrefix: 'zoo_' }, services }));
  const refused = await kit.reload();
  expect(refused.code).toBe(1);
  expect(refused.stdout).toContain('SERVICES_FILE: api.keyPrefix has changed: restart the gateway');
  expect((await kit.get('/v1/pets')).status).toBe(200);
});

test('a worker that starts after a reload serves what the others serve', async () => {
  await using kit = await startReloadKit(threeWorkers);
  await using upstream = await startUpstream();
  await kit.write(kit.withOrders([upstream.url]));
  expect((await kit.reload()).code).toBe(0);
  const [first] = await waitForWorkers(kit.gateway, workers);
  process.kill(first, 'SIGKILL');
  await waitForWorkers(kit.gateway, workers + 1, 60_000);
  const statuses = await Promise.all(
    Array.from({ length: 4 * workers }, async () => {
      const headers = { connection: 'close' };
      return (await send(`${kit.gateway.url}/v1/orders`, { key: kit.key, headers })).status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  const { stdout, code } = await kit.reload();
  expect(stdout).toMatch(/ is reloaded: revision /);
  expect(code).toBe(0);
});

test('ops services reload answers for each gateway, also for one that cannot answer', async () => {
  await using kit = await startReloadKit();
  await using other = await startGateway({
    DATA_DIR: kit.directory,
    REDIS_URL: kit.redisUrl,
    SERVICES_FILE: kit.servicesFile,
  });
  const { code, stdout } = await kit.reload();
  const lines = stdout.trimEnd().split('\n');
  expect(code).toBe(0);
  expect(lines).toHaveLength(2);
  // Both serve the same, so their revisions are equal.
  expect(new Set(lines.map((line) => line.split(' ').at(-1)))).toHaveProperty('size', 1);

  // It announces itself, and cannot read the file.
  await kit.redis.hset(redisKeys.processStatuses, 'stuck', await stuckStatus(kit));
  await using _beat = startLoad(
    1,
    async () => kit.redis.hset(redisKeys.processStatuses, 'stuck', await stuckStatus(kit)),
    500,
  );
  const { code: failed, stdout: told } = await kit.reload();
  expect(failed).toBe(1);
  expect(told).toMatch(/^stuck has not answered; see its log$/m);
  expect(told.match(/ is reloaded: /g)).toHaveLength(2);
  expect(other.output()).toContain('"msg":"files are reloaded"');
});

/** The status of a gateway that has not seen the request. */
async function stuckStatus({ redis }: ReloadKit): Promise<string> {
  const [text = '{}'] = Object.values(await redis.hgetall(redisKeys.processStatuses));
  const status = JSON.parse(text) as { gateway: object; reload: object };
  const gateway = { ...status.gateway, id: 'stuck', host: 'stuck', adminAddress: undefined };
  return JSON.stringify({
    ...status,
    id: 'stuck',
    gateway,
    reload: { ...status.reload, request: null },
    at: Date.now(),
  });
}

test('a reload follows the symbolic link that Kubernetes replaces', async () => {
  await using mounted = await temporaryDirectory();
  await using upstream = await startUpstream();
  await using kit = await startReloadKit({ SERVICES_FILE: await volume('first', {}) });
  expect((await kit.get('/v1/orders')).status).toBe(404);
  await volume('second', { orders: { description: 'orders.yaml', urls: [upstream.url] } });
  expect((await kit.reload()).code).toBe(0);
  expect((await kit.get('/v1/orders')).status).toBe(200);

  /** A ConfigMap as the kubelet mounts it: the files are links into `..data`, which is a link itself. */
  async function volume(version: string, services: object): Promise<string> {
    const path = (name: string) => join(mounted.path, name);
    await mkdir(path(version));
    const pets = { description: descriptions.pets, urls: ['http://127.0.0.1:9'] };
    const file = { services: { 'pets-service': pets, ...services } };
    await writeFile(path(`${version}/services.yaml`), JSON.stringify(file));
    await copyFile(descriptions.orders, path(`${version}/orders.yaml`));
    await symlink(version, path('..data_tmp'));
    await rename(path('..data_tmp'), path('..data'));
    for (const name of ['services.yaml', 'orders.yaml'])
      await symlink(join('..data', name), path(name)).catch(() => {});
    return path('services.yaml');
  }
});

test('ops services reload says that no gateway runs', async () => {
  await using kit = await startReloadKit();
  expect(await kit.gateway.stop()).toBe(0);
  const { code, stderr } = await kit.reload();
  expect(code).toBe(1);
  expect(stderr).toContain('no gateway runs on this Redis: nothing is reloaded');
});

test(
  'a new password of Redis is used from then on, and a wrong one is refused',
  { tags: ['redis-server'] },
  async () => {
    await using kit = await startReloadKit();
    const setPassword = (...rules: string[]) =>
      kit.redis.call('ACL', 'SETUSER', 'gw', 'on', '~*', '&*', '+@all', ...rules);
    await setPassword('>first');
    const file = join(kit.directory, 'redis-url');
    const url = new URL(kit.redisUrl);
    const write = (password: string, port = url.port) =>
      writeFile(file, `redis://gw:${password}@${url.hostname}:${port}\n`);
    await write('first');
    await using gateway = await startGateway({
      DATA_DIR: join(kit.directory, 'other'),
      REDIS_URL_FILE: file,
      PETS_SERVICE_URL: kit.pets.url,
      GATEWAY_WORKERS: '2',
    });
    const connected = async () => {
      const clients = String(await kit.redis.call('CLIENT', 'LIST'));
      return clients.match(/ user=gw /g)?.length ?? 0;
    };
    // Of two workers, of the console, and of what delivers events.
    await expect.poll(connected).toBe(4);

    await setPassword('resetpass', '>second');
    await write('wrong');
    const refused = await kit.reload();
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/: REDIS_URL is refused by Redis: WRONGPASS /);
    expect(refused.stdout).not.toContain('gw:wrong');
    await write('second', String(Number(url.port) + 1));
    expect((await kit.reload()).stdout).toContain('REDIS_URL has changed in more than user and password');
    await write('second');
    gateway.signal('SIGHUP');
    await expect.poll(() => gateway.output()).toContain('"msg":"files are reloaded"');
    expect((await kit.reload()).code).toBe(0);

    await kit.redis.call('CLIENT', 'KILL', 'USER', 'gw');
    await expect.poll(connected).toBe(4);
    const readiness = async () => (await send(`${gateway.adminUrl}/readyz`)).json;
    await expect.poll(readiness).toMatchObject({ redis: 'ok', workers: { ready: 2 } });
    const status = async () => (await send(`${gateway.url}/v1/pets`, { key: kit.key })).status;
    await expect.poll(status).toBe(200);
  },
);

describe('a closed terminal', () => {
  test('stops a gateway that could reload', async () => {
    await using kit = await startReloadKit();
    const program = [process.execPath, '--disable-warning=ExperimentalWarning', 'gateway/server.ts'].join(
      ' ',
    );
    // script makes a terminal; when it is killed, the system closes it.
    const terminal = spawn('script', ['--quiet', '--command', program, '/dev/null'], {
      cwd: root,
      env: {
        PATH: process.env['PATH'],
        DATA_DIR: kit.directory,
        REDIS_URL: kit.redisUrl,
        SERVICES_FILE: kit.servicesFile,
        GATEWAY_PORT: '0',
        GATEWAY_ADMIN_PORT: '0',
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let output = '';
    terminal.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    await expect.poll(() => output, { timeout: 30_000 }).toContain('gateway listens on port');
    const pid = await pidOfOther(kit);
    expect(isRunning(pid)).toBe(true);
    terminal.kill('SIGKILL');
    await expect.poll(() => isRunning(pid)).toBe(false);
    expect(isRunning(kit.gateway.pid)).toBe(true);
  });
});

/** Process id of the gateway that is not the kit's own. */
async function pidOfOther({ redis, gateway }: ReloadKit): Promise<number> {
  let pid = 0;
  await expect
    .poll(async () => {
      const statuses = Object.values(await redis.hgetall(redisKeys.processStatuses));
      const pids = statuses.map((text) => (JSON.parse(text) as { pid: number }).pid);
      pid = pids.find((each) => each !== gateway.pid) ?? 0;
      return pid;
    })
    .not.toBe(0);
  return pid;
}
