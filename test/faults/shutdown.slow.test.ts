import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import { Agent, request } from 'undici';
import { describe, expect, test } from 'vitest';
import { maxCollectedBytes } from '../../gateway/upstream/exchange.ts';
import { issueServiceToken, loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway, startPetsService } from '../support/kits/service.ts';
import { fresh } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { createDatabase } from '../support/stores/stores.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

describe('shutdown of the gateway', () => {
  const kit = fresh(startGatewayKit);

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: requests in flight finish, their connections close, and the gateway exits with 0',
    async (signal) => {
      const { key } = await kit.issue();
      const release: (() => void)[] = [];
      kit.upstream.response = (req, res) => {
        release.push(() => respondWithPets(req, res));
      };
      const inFlight = Array.from({ length: 5 }, () => send(`${kit.gateway.url}/v1/pets`, { key }));
      await expect.poll(() => release.length).toBe(5);
      kit.gateway.signal(signal);
      await expect
        .poll(async () => (await send(`${kit.gateway.adminUrl}/readyz`)).json)
        .toMatchObject({ status: 'draining' });
      expect((await send(`${kit.gateway.adminUrl}/readyz`)).status).toBe(503);
      // New connections are refused.
      await expect(send(`${kit.gateway.url}/openapi.json`)).rejects.toThrow('ECONNREFUSED');
      for (const finish of release) finish();
      const responses = await Promise.all(inFlight);
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      expect(responses.map((response) => response.header('Connection'))).toEqual(Array(5).fill('close'));
      expect(await kit.gateway.exited).toBe(0);
    },
  );

  test('a response that has begun is completed before the gateway exits', async () => {
    const { key } = await kit.issue();
    let finish = () => {};
    kit.upstream.response = (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      // Too much to buffer, so the gateway sends it before the rest arrives.
      res.write(`["${'a'.repeat(maxCollectedBytes)}", `);
      finish = () => res.end('"rest"]');
    };
    const agent = new Agent({ keepAliveTimeout: 60_000 });
    const headers = { authorization: `Bearer ${key}` };
    const response = await request(`${kit.gateway.url}/v1/pets`, { dispatcher: agent, headers });
    kit.gateway.signal('SIGTERM');
    await expect
      .poll(async () => (await send(`${kit.gateway.adminUrl}/readyz`)).json)
      .toMatchObject({ status: 'draining' });
    finish();
    expect(await response.body.json()).toEqual(['a'.repeat(maxCollectedBytes), 'rest']);
    expect(await kit.gateway.exited).toBe(0);
    await agent.close();
  });

  test('idle connections, and those that never sent a request, are closed at once', async () => {
    const agent = new Agent({ keepAliveTimeout: 60_000 });
    await (await request(`${kit.gateway.url}/openapi.json`, { dispatcher: agent })).body.dump();
    const socket = connect(kit.gateway.port, '127.0.0.1');
    await once(socket, 'connect');
    const closed = once(socket, 'close');
    expect(await kit.gateway.stop()).toBe(0);
    await closed;
    await agent.close();
  });

  test('requests that never end are aborted after SHUTDOWN_TIMEOUT_MS, also with a pipelined CONNECT', async () => {
    await using gateway = await startGateway({ ...kit.env, SHUTDOWN_TIMEOUT_MS: '500' });
    const { key } = await kit.issue({ plan: 'business' });
    let reached = 0;
    kit.upstream.response = () => {
      reached += 1;
    };
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    const pipelinedGet = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    socket.write(`${pipelinedGet}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`);
    const closed = once(socket, 'close');
    const outcome = send(`${gateway.url}/v1/pets`, { key }).catch(String);
    await expect.poll(() => reached).toBe(2);
    expect(await gateway.stop()).toBe(0);
    await closed;
    expect(await outcome).toMatch(/other side closed|ECONNRESET/);
  });
});

describe('shutdown of the pets service', () => {
  test('SIGTERM: a create in flight is completed', { tags: ['postgresql'] }, async () => {
    await using directory = await temporaryDirectory();
    const databaseUrl = await createDatabase();
    const service = await startPetsService({ DATA_DIR: directory.path, DATABASE_URL: databaseUrl });
    const token = issueServiceToken(loadPrivateKey(undefined, directory.path), 'tests', 600, 'pets-service');
    const client = new pg.Client(databaseUrl);
    await client.connect();
    await client.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
    const created = postJson(`${service.url}/v1/pets`, token, { name: 'Last', categoryId: 1 });
    const waitingLocks = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'pets'::regclass";
    await expect.poll(async () => (await client.query(waitingLocks)).rowCount).toBe(1);
    service.signal('SIGTERM');
    await expect.poll(service.output).toContain('stopping');
    await client.query('COMMIT');
    expect((await created).status).toBe(201);
    expect(await service.exited).toBe(0);
    expect((await client.query("SELECT 1 FROM pets WHERE name = 'Last'")).rowCount).toBe(1);
    await client.end();
  });
});
