import { beforeAll, describe, expect, test } from 'vitest';
import { issueServiceToken, loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { postJson, send } from '../support/http/http.ts';
import { runProgram, startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startPostgresServer } from '../support/stores/postgres-server.ts';

describe('a PostgreSQL outage', { tags: ['postgresql'] }, () => {
  const directory = shared(temporaryDirectory);
  const postgres = shared(startPostgresServer);
  const pets = shared(async () => ({ databaseUrl: await postgres.createDatabase('pets') }));
  const service = shared(() =>
    startPetsService({ DATA_DIR: directory.path, DATABASE_URL: pets.databaseUrl, DATABASE_POOL_SIZE: '4' }),
  );
  let token: string;
  beforeAll(() => {
    token = issueServiceToken(loadPrivateKey(undefined, directory.path), 'tests', 600, 'pets-service');
  });

  const list = () => send(`${service.url}/v1/pets?limit=100`, { key: token });
  const create = (name: string) => postJson(`${service.url}/v1/pets`, token, { name, categoryId: 1 });
  const createIdempotent = (name: string, key: string) =>
    postJson(`${service.url}/v1/pets`, token, { name, categoryId: 1 }, { 'Idempotency-Key': key });
  const find = (id: number) => send(`${service.url}/v1/pets/${id}`, { key: token });
  const names = async () => ((await list()).json as { name: string }[]).map(({ name }) => name);
  const database = async () => ((await send(`${service.url}/readyz`)).json as { database: string }).database;

  test('an instance is ready once its tables exist, and stays ready during an outage', async () => {
    await using directory = await temporaryDirectory();
    const url = await postgres.createDatabase('later');
    const env = { DATA_DIR: directory.path, DATABASE_URL: url, DEMO: 'false' };
    await using early = await startPetsService(env);
    const ready = async () => {
      const { status, json } = await send(`${early.url}/readyz`);
      return { http: status, ...(json as object) };
    };
    expect(await ready()).toEqual({ http: 503, status: 'starting', database: 'unavailable' });
    await expect.poll(early.output).toContain('npm run migrate');
    const key = issueServiceToken(loadPrivateKey(undefined, directory.path), 'tests', 600, 'pets-service');
    const address = `${early.url}/v1/pets`;
    const pet = { name: 'Early', categoryId: 1 };
    const earlyResponses = await Promise.all([
      send(address, { key }),
      send(`${address}/1`, { key }),
      postJson(address, key, pet),
      postJson(address, key, pet, { 'Idempotency-Key': 'early' }),
    ]);
    for (const { status, header } of earlyResponses)
      expect([status, header('Retry-After')]).toEqual([503, '1']);
    expect((await runProgram(['prisma/migrate.ts'], { DATABASE_URL: url })).code).toBe(0);
    expect(await ready()).toEqual({ http: 200, status: 'ok', database: 'ok' });
    await postgres.kill();
    expect(await ready()).toEqual({ http: 200, status: 'ok', database: 'unavailable' });
    await using late = await startPetsService(env);
    const { status, json } = await send(`${late.url}/readyz`);
    expect({ status, json }).toEqual({ status: 503, json: { status: 'starting', database: 'unavailable' } });
    await postgres.restart();
    await expect.poll(async () => (await send(`${late.url}/readyz`)).status).toBe(200);
  });

  test('killed: 503 while it is down, logged once, recovery without a restart of the service, and stored pets are kept', async () => {
    expect((await create('Before')).status).toBe(201);
    const before = service.output().length;
    await postgres.kill();
    const failed = await Promise.all(Array.from({ length: 50 }, list));
    expect(failed.map(({ status }) => status)).toEqual(failed.map(() => 503));
    const lines = () =>
      service
        .output()
        .slice(before)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { err?: unknown; status?: number });
    await expect.poll(() => lines().filter(({ status }) => status === 503).length).toBe(failed.length);
    // One of a request, and one of the health check.
    expect(lines().filter(({ err }) => err !== undefined).length).toBeLessThanOrEqual(2);
    for (const request of [
      list,
      () => find(1),
      () => create('Meanwhile'),
      () => createIdempotent('Meanwhile', 'once'),
    ]) {
      const response = await request();
      expect(response).toMatchObject({ status: 503, json: { code: 'service_unavailable', status: 503 } });
      expect(response.header('Retry-After')).toBe('1');
    }
    expect(await database()).toBe('unavailable');
    expect((await send(`${service.url}/readyz`)).status).toBe(200);
    await postgres.restart();
    await expect.poll(async () => (await list()).status).toBe(200);
    expect(await names()).toContain('Before');
    expect(await names()).not.toContain('Meanwhile');
    expect((await createIdempotent('Meanwhile', 'once')).status).toBe(201);
    expect(await database()).toBe('ok');
  });

  test('paused: requests get 503 instead of hanging, and succeed after it resumes', async () => {
    await list();
    await postgres.pause();
    const [state, ...responses] = await Promise.all([
      database(),
      list(),
      find(1),
      create('Paused'),
      createIdempotent('Paused', 'paused'),
    ]);
    expect(state).toBe('unavailable');
    expect(responses.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    await postgres.resume();
    await expect.poll(async () => (await list()).status).toBe(200);
  });
});
