import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { keyId } from '../../gateway/upstream/internal-token.ts';
import { send } from '../support/http/http.ts';
import { descriptions, startReloadKit } from '../support/kits/reload-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { createGatewayObserver, isRunning, waitForWorkers } from '../support/kits/worker-processes.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const workers = 2;
const twoWorkers = { GATEWAY_WORKERS: String(workers) };
const replaced = /"msg":"workers are replaced by ones that have read the files again"/;

describe('SIGHUP to a gateway with two workers', { timeout: 120_000 }, () => {
  // Requests are held until all workers are replaced.
  const kit = shared(() => startReloadKit({ ...twoWorkers, UPSTREAM_TIMEOUT_MS: '60000' }));
  /** Workers that were started, those of the tests before included. */
  let started = workers;

  const { metrics, sum, readiness } = createGatewayObserver(() => kit.gateway);
  /** Statuses of requests on new connections, which go to each worker in turn. */
  const statuses = async (path: string) => {
    const headers = { connection: 'close' };
    const requests = Array.from({ length: 4 * workers }, () =>
      send(`${kit.gateway.url}${path}`, { key: kit.key, headers }),
    );
    return new Set((await Promise.all(requests)).map(({ status }) => status));
  };

  test('changes nothing if a file is invalid, and logs file, line and reason in one line', async () => {
    await using upstream = await startUpstream();
    const before = await waitForWorkers(kit.gateway, workers);
    await kit.write(`services:\n  orders: { description: none.yaml, urls: ['${upstream.url}'] }\n`);
    expect(await kit.reload()).toMatch(
      /"level":50,.*"issues":\["SERVICES_FILE: services.yaml:2:13: none.yaml can't be read.*"msg":"files are not reloaded"/,
    );

    // The file is valid, a description is not.
    const description = join(kit.directory, 'orders.yaml');
    const text = await readFile(descriptions.orders, 'utf8');
    await writeFile(description, text.replace('operationId: listOrders', 'x-quota-cost: 0'));
    await kit.write({ ...kit.onlyPets(), orders: { description, urls: [upstream.url] } });
    expect(await kit.reload()).toMatch(
      /orders\.yaml:\d+:\d+: x-quota-cost of GET \/orders is no whole number/,
    );

    const file = join(kit.directory, 'internal-token', 'private.pem');
    const key = await readFile(file);
    await writeFile(file, 'no key');
    await writeFile(description, text);
    expect(await kit.reload()).toMatch(/has no unencrypted private key in PEM format/);
    await writeFile(file, key);

    await kit.write(JSON.stringify({ api: { keyPrefix: 'zoo_' }, services: kit.onlyPets() }));
    expect(await kit.reload()).toContain('SERVICES_FILE: api.keyPrefix has changed: restart the gateway');

    expect(await statuses('/v1/orders')).toEqual(new Set([404]));
    expect(await statuses('/v1/pets')).toEqual(new Set([200]));
    expect((await waitForWorkers(kit.gateway, workers)).filter(isRunning)).toEqual(before);
  });

  test('replaces them: routes, documents, health and metrics follow the file', async () => {
    const outputBefore = kit.gateway.output().length;
    await using upstream = await startUpstream();
    expect(await statuses('/v1/orders')).toEqual(new Set([404]));
    const before = await waitForWorkers(kit.gateway, workers);
    await kit.write(kit.withOrders([upstream.url]));
    expect(await kit.reload()).toMatch(replaced);
    const services = { 'pets-service': { [kit.pets.url]: 'ready' }, orders: { [upstream.url]: 'ready' } };
    await expect
      .poll(readiness)
      .toMatchObject({ status: 'ok', services, workers: { ready: workers, wanted: workers } });
    await expect.poll(() => before.filter(isRunning), { timeout: 30_000 }).toEqual([]);
    expect(await statuses('/v1/orders')).toEqual(new Set([200]));
    const { text: document } = await send(`${kit.gateway.url}/openapi.json`);
    expect(document).toContain('"/orders"');
    expect((await send(`${kit.gateway.url}/docs/reference`)).text).toContain('/v1/orders');
    expect(await metrics()).toContain(`gateway_upstream_up{service="orders",upstream="${upstream.url}"} 1`);

    await kit.write(kit.onlyPets());
    expect(await kit.reload()).toMatch(replaced);
    started += 2 * workers;
    await expect.poll(readiness).toMatchObject({ services: { 'pets-service': { [kit.pets.url]: 'ready' } } });
    await expect.poll(() => sum('gateway_workers')).toBe(workers);
    // A worker that leaves takes connections for two seconds.
    await expect.poll(() => statuses('/v1/orders'), { timeout: 30_000 }).toEqual(new Set([404]));
    expect(await metrics()).not.toContain(`upstream="${upstream.url}"`);
    // Of workers that have exited, too.
    await expect
      .poll(() => sum('gateway_upstream_duration_seconds_count', 'service="orders"'))
      .toBe(upstream.seen.filter(({ url }) => url === '/v1/orders').length);
    expect(await sum('gateway_worker_restarts_total')).toBe(0);
    expect(kit.gateway.output().slice(outputBefore)).not.toContain('"level":50');
  });

  test('lets requests in flight finish, at a removed service and at a moved instance', async () => {
    await using upstream = await startUpstream();
    const moved = await startUpstream();
    onTestFinished(() => moved[Symbol.asyncDispose]());
    await kit.write(kit.withOrders([upstream.url]));
    expect(await kit.reload()).toMatch(replaced);
    await expect.poll(() => statuses('/v1/orders'), { timeout: 30_000 }).toEqual(new Set([200]));
    const held: (() => void)[] = [];
    for (const each of [upstream, kit.pets]) {
      const { response } = each;
      each.response = (req, res, body) => {
        // A worker that leaves may get further requests.
        each.response = response;
        held.push(() => response(req, res, body));
      };
    }
    const inFlight = [kit.get('/v1/orders'), kit.get('/v1/pets')];
    await expect.poll(() => held.length).toBe(2);
    await kit.write(kit.onlyPets([moved.url]));
    expect(await kit.reload()).toMatch(replaced);
    await expect.poll(() => statuses('/v1/orders'), { timeout: 30_000 }).toEqual(new Set([404]));
    expect(await statuses('/v1/pets')).toEqual(new Set([200]));
    expect(moved.seen).not.toHaveLength(0);
    for (const finish of held) finish();
    expect((await Promise.all(inFlight)).map(({ status }) => status)).toEqual([200, 200]);
    await expect.poll(() => upstream.connections(), { timeout: 10_000 }).toBe(0);
    await expect.poll(() => kit.pets.connections(), { timeout: 10_000 }).toBe(0);
    await kit.write(kit.onlyPets());
    expect(await kit.reload()).toMatch(replaced);
    started += 3 * workers;
  });

  test('has a new private key sign the tokens, also of a worker that starts later', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const file = join(kit.directory, 'internal-token', 'private.pem');
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect(await kit.reload()).toMatch(replaced);
    const pids = await waitForWorkers(kit.gateway, started + workers);
    process.kill(pids.at(-1) ?? 0, 'SIGKILL');
    await waitForWorkers(kit.gateway, started + workers + 1, 60_000);
    await expect.poll(() => pids.slice(0, -workers).filter(isRunning), { timeout: 30_000 }).toEqual([]);
    const before = kit.pets.seen.length;
    expect(await statuses('/v1/pets')).toEqual(new Set([200]));
    const keyIds = kit.pets.seen.slice(before).map(({ headers }) => {
      const [header = ''] = (headers.authorization ?? '').slice('Bearer '.length).split('.');
      return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid;
    });
    expect(new Set(keyIds)).toEqual(new Set([keyId(privateKey)]));
  });
});

test('the workers go on if a new one does not start, and are as many if one exits meanwhile', async () => {
  const exitAtStart = `if(worker?.id===${workers + 1})process.exit(3)`;
  const slowStart = `if(worker?.id===${workers + 2}){console.log('slow');Atomics.wait(new%20Int32Array(new%20SharedArrayBuffer(4)),0,0,5000)}`;
  await using kit = await startReloadKit({
    ...twoWorkers,
    NODE_OPTIONS: `--import=data:text/javascript,const{worker}=(await(import('node:cluster'))).default;${exitAtStart};${slowStart}`,
  });
  const pids = await waitForWorkers(kit.gateway, workers);
  expect(await kit.reload()).toMatch(
    /"issues":\["a new worker exited at its start"\],"msg":"files are not reloaded"/,
  );
  expect(pids.filter(isRunning)).toEqual(pids);
  // The next attempt works.
  const reloaded = kit.reload();
  await expect.poll(() => kit.gateway.output(), { timeout: 30_000 }).toContain('slow');
  const [, first] = /"worker":1,"pid":(\d+),/.exec(kit.gateway.output()) ?? [];
  process.kill(Number(first), 'SIGKILL');
  expect(await reloaded).toMatch(replaced);
  // The two, the slow one, the one in place of the killed one, and the successor of the other.
  await waitForWorkers(kit.gateway, 5, 60_000);
  const { readiness } = createGatewayObserver(() => kit.gateway);
  expect(await readiness()).toMatchObject({ workers: { ready: workers, wanted: workers } });
  expect((await kit.get('/v1/pets')).status).toBe(200);
});

describe('a gateway without workers', () => {
  const kit = shared(() => startReloadKit());

  test('logs at SIGHUP that a restart is needed, and nothing else happens', async () => {
    await using upstream = await startUpstream();
    await kit.write(kit.withOrders([upstream.url]));
    expect(await kit.reload()).toMatch(/"level":40,.*restart the gateway to apply changed files/);
    expect((await kit.get('/v1/orders')).status).toBe(404);
    expect((await kit.get('/v1/pets')).status).toBe(200);
  });

  test('another REDIS_URL needs a restart', async () => {
    const file = join(kit.directory, 'redis-url');
    await writeFile(file, kit.server.url);
    await using gateway = await startGateway({
      DATA_DIR: join(kit.directory, 'other'),
      REDIS_URL_FILE: file,
      PETS_SERVICE_URL: kit.pets.url,
      ...twoWorkers,
    });
    await writeFile(file, 'redis://127.0.0.1:1');
    gateway.signal('SIGHUP');
    await expect.poll(() => gateway.output()).toContain('REDIS_URL has changed: restart the gateway');
    expect((await send(`${gateway.url}/v1/pets`, { key: kit.key })).status).toBe(200);
  });
});
