import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postJson, send } from '../support/http/http.ts';
import { runOps, startGateway, startPetsService, type Service } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { storeKinds, type StoreSetup } from '../support/stores/stores.ts';

for (const { name, start, tags } of storeKinds)
  describe(`the whole service on ${name}`, { tags }, () => {
    let stores: StoreSetup;
    let directory: TemporaryDirectory;
    let petsService: Service;
    let gateway: Service;
    let env: Record<string, string>;

    beforeAll(async () => {
      stores = await start();
      directory = await temporaryDirectory();
      env = { ...stores.env, DATA_DIR: directory.path, LOG_LEVEL: 'info' };
      // Both start at once: the faster one creates the key pair for internal tokens.
      [petsService, gateway] = await Promise.all([
        startPetsService({ ...env, PETS_SERVICE_PORT: '0' }),
        startGateway({ ...env, PETS_SERVICE_URL: 'http://127.0.0.1:1' }),
      ]);
      await gateway.stop();
      gateway = await startGateway({ ...env, PETS_SERVICE_URL: petsService.url });
    });

    afterAll(async () => {
      await gateway[Symbol.asyncDispose]();
      await petsService[Symbol.asyncDispose]();
      await stores[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    });

    const ops = async (...args: string[]) => {
      const { stdout, stderr } = await runOps([...args, '--json'], env);
      expect(stderr).toBe('');
      return JSON.parse(stdout) as { id: string; key: string; customerId: string };
    };
    const pets = (key: string, path = '/v1/pets') => send(`${gateway.url}${path}`, { key });

    test('lists, creates and reads pets with exact integers', async () => {
      const { key } = await ops('keys', 'issue', '--plan', 'pro', '--name', 'x');
      const before = (await pets(key)).json as unknown[];
      expect(before.length).toBeGreaterThanOrEqual(5);
      const created = await postJson(
        `${gateway.url}/v1/pets`,
        key,
        '{"name":"Rex","categoryId":9223372036854775807}',
      );
      expect(created.status).toBe(201);
      expect(created.text).toContain('"categoryId":9223372036854775807');
      const read = await pets(key, new URL(created.header('Location') ?? '').pathname);
      expect(read.text).toBe(created.text);
      const page = await pets(key, '/v1/pets?limit=2');
      const next = /^<(.+)>; rel="next"$/.exec(page.header('Link') ?? '')?.[1];
      const { pathname, search } = new URL(next ?? '');
      expect((await pets(key, pathname + search)).json).toEqual(before.slice(2, 4));
    });

    test('enforces minute and day limits, applies new limits at once, and revokes at once', async () => {
      const { key, id } = await ops('keys', 'issue', '--plan', 'free', '--name', 'x', '--minute', '3');
      const statuses = [];
      for (let index = 0; index < 4; index += 1) statuses.push((await pets(key)).status);
      expect(statuses).toEqual([200, 200, 200, 429]);
      await ops('keys', 'set', id, '--minute', '5');
      expect((await pets(key)).header('X-RateLimit-Remaining')).toBe('1');
      await ops('keys', 'set', id, '--minute', '100', '--day', '4');
      const dayResponse = await pets(key);
      expect(dayResponse.status).toBe(429);
      expect(dayResponse.header('X-RateLimit-Limit')).toBe('4');
      expect(Number(dayResponse.header('X-RateLimit-Reset')) % 86_400).toBe(0);
      await ops('keys', 'revoke', '--yes', id);
      expect((await pets(key)).json).toMatchObject({ code: 'revoked_api_key' });
    });

    test('both services log a request with the same id and its caller', async () => {
      const { key, id, customerId } = await ops('keys', 'issue', '--plan', 'free', '--name', 'x');
      const response = await pets(key);
      const requestId = response.header('X-Request-Id') ?? '';
      const lineOf = (output: string) => output.split('\n').find((line) => line.includes(requestId));
      for (const service of [gateway, petsService])
        await expect.poll(() => lineOf(service.output())).toBeDefined();
      expect(JSON.parse(lineOf(gateway.output()) ?? '')).toMatchObject({ keyId: id, status: 200 });
      expect(JSON.parse(lineOf(petsService.output()) ?? '')).toMatchObject({
        service: 'pets-service',
        method: 'GET',
        status: 200,
        issuer: 'gateway',
        caller: customerId,
      });
    });
  });
