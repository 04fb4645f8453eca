import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { Validator } from '@seriousme/openapi-schema-validator';
import pg from 'pg';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorCodes as gatewayCodes } from '../../gateway/errors.ts';
import { loadApiDescription } from '../../gateway/upstream/api-description.ts';
import { errorCodes as petsCodes } from '../../pets-service/errors.ts';
import { freePort } from '../support/http/free-port.ts';
import { parseRaw, postJson, send, sendRaw, type ClientResponse } from '../support/http/http.ts';
import { servePets } from '../support/kits/pets-kit.ts';
import { runOps, startGateway, startPetsService, type Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { createDatabase } from '../support/stores/stores.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';
import { createContract, knownErrorCodes, type OpenApiDocument } from './openapi-contract.ts';

const document = JSON.parse(loadApiDescription().json) as OpenApiDocument;

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(
      JSON.parse(loadApiDescription().json) as Record<string, unknown>,
    );
    expect(result).toEqual({ valid: true });
  });

  test('lists exactly the error codes of both services', () => {
    expect(knownErrorCodes(document).toSorted()).toEqual(
      [...new Set([...gatewayCodes, ...petsCodes])].toSorted(),
    );
  });
});

/** Responses that only a bug causes, so no test can. */
const causedByBugs = ['getUsage 500'];

describe('the API', { tags: ['redis-server', 'postgresql'] }, () => {
  const redis = shared(startRedisServer);
  const directory = shared(temporaryDirectory);
  const env: Record<string, string> = {};
  let petsService: Service;
  const gateway = shared(async () => {
    Object.assign(env, {
      REDIS_URL: redis.url,
      DATABASE_URL: await createDatabase(),
      DATA_DIR: directory.path,
    });
    petsService = await startPetsService(env);
    return startGateway({ ...env, PETS_SERVICE_URL: petsService.url, REQUEST_TIMEOUT_MS: '1500' });
  });
  let key: string;

  const ops = async (...args: string[]) => {
    const { stdout, stderr, code } = await runOps([...args, '--json'], env);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as { id: string; key: string };
  };

  beforeAll(async () => {
    ({ key } = await ops('keys', 'issue', '--plan', 'business', '--name', 'contract'));
  });
  afterAll(() => petsService[Symbol.asyncDispose]());

  const contract = createContract(document);
  const url = (path: string) => `${gateway.url}/v1${path}`;
  const head = (request: string) =>
    `${request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\nContent-Type: application/json\r\n`;
  const operations = [
    { id: 'listPets', method: 'GET', path: '/pets' },
    { id: 'createPet', method: 'POST', path: '/pets' },
    { id: 'getPet', method: 'GET', path: '/pets/1' },
  ];

  /** Sends one request for each operation, and checks the responses. */
  const checkEach = async (
    sendRequest: (
      operation: (typeof operations)[number],
    ) => Promise<Pick<ClientResponse, 'status' | 'header' | 'text'>>,
  ) => {
    const responses = await Promise.all(operations.map(sendRequest));
    for (const [index, response] of responses.entries())
      contract.check(operations[index]?.id ?? '', response);
  };
  const sendTo = (gatewayUrl: string, apiKey = key) =>
    checkEach(({ method, path }) =>
      method === 'POST'
        ? postJson(`${gatewayUrl}/v1${path}`, apiKey, { name: 'Rex', categoryId: 1 })
        : send(`${gatewayUrl}/v1${path}`, { key: apiKey }),
    );
  const rawResponse = async (
    bytes: string,
    port = gateway.port,
  ): Promise<Pick<ClientResponse, 'status' | 'header' | 'text'>> => {
    const { status, headers, json } = parseRaw(await sendRaw(port, bytes));
    return {
      status,
      text: JSON.stringify(json),
      header: (wanted) => new RegExp(`^${wanted}: (.*?)\\r?$`, 'im').exec(headers)?.[1],
    };
  };

  test('200 and 201', async () => {
    await sendTo(gateway.url);
    contract.check('listPets', await send(url('/pets?limit=1'), { key }));
  });

  test('429 and 503 for a connection beyond a limit, and OPTIONS, which is not described, is answered', async () => {
    for (const [setting, status] of [
      ['MAX_CONNECTIONS_PER_ADDRESS', 429],
      ['MAX_CONNECTIONS', 503],
    ] as const) {
      await using limited = await startGateway({ ...env, [setting]: '1' });
      const onlyConnection = connect(limited.port, '127.0.0.1');
      await once(onlyConnection, 'connect');
      // An idle connection would give way.
      onlyConnection.write(`${head('POST /v1/pets')}Content-Length: 2\r\n\r\n`);
      await expect
        .poll(() =>
          rawResponse(`${head('GET /v1/usage')}\r\n`, limited.port).then((response) => {
            contract.check('getUsage', response);
            return response.status;
          }),
        )
        .toBe(status);
      onlyConnection.destroy();
    }
    for (const path of Object.keys(document.paths)) {
      const response = await send(url(path.replace('{petId}', '1')), { method: 'OPTIONS' });
      expect(response).toMatchObject({ status: 204, text: '' });
      expect(response.header('Allow')).toContain('GET, HEAD');
    }
  });

  test('403 for an operation whose scope the key lacks', async () => {
    const issue = async (scopes: string) => {
      const named = ['--plan', 'free', '--name', 'scopes', '--scopes', scopes];
      return (await ops('keys', 'issue', ...named)).key;
    };
    const [reader, writer] = [await issue('pets-service:read'), await issue('pets-service:write')];
    contract.check('createPet', await postJson(url('/pets'), reader, { name: 'x', categoryId: 1 }));
    contract.check('listPets', await send(url('/pets'), { key: writer }));
    contract.check('getPet', await send(url('/pets/1'), { key: writer }));
  });

  test('400', async () => {
    contract.check('listPets', await send(url('/pets?limit=0'), { key }));
    contract.check('createPet', await postJson(url('/pets'), key, { name: 1 }));
    contract.check(
      'getPet',
      await rawResponse(
        `GET /v1/pets/1 HTTP/1.1\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
      ),
    );
    const twice = 'Idempotency-Key: "a"\r\nIdempotency-Key: "a"\r\nContent-Length: 2\r\n\r\n{}';
    const ambiguous = await rawResponse(head('POST /v1/pets') + twice);
    contract.check('createPet', ambiguous);
    expect(ambiguous.text).toContain('Idempotency-Key must be given once');
  });

  test('401', async () => {
    await checkEach(({ method, path }) => send(url(path), { method }));
  });

  test('404', async () => {
    contract.check('getPet', await send(url('/pets/999999'), { key }));
    contract.check('getPet', await send(url('/pets/abc'), { key }));
    const head = await send(url('/pets/999999'), { key, method: 'HEAD' });
    expect(head.header('Link')).toMatch(/, <http:[^<>]+\/docs#errors>; rel="help"$/);
  });

  test('408', async () => {
    await checkEach(({ method, path }) => rawResponse(head(`${method} /v1${path}`).slice(0, -1)));
  });

  test('413 and 415', async () => {
    await checkEach(({ method, path }) =>
      rawResponse(`${head(`${method} /v1${path}`)}Content-Length: 1048577\r\n\r\n`),
    );
    contract.check('createPet', await postJson(url('/pets'), key, 'x'.repeat(1_100_000)));
    contract.check('createPet', await send(url('/pets'), { method: 'POST', key, body: 'name=Rex' }));
  });

  test('422 for an Idempotency-Key with another body, and 409 while the first request is in flight', async () => {
    const create = (name: string, idempotencyKey = '"contract"') =>
      send(`${gateway.url}/v1/pets`, {
        method: 'POST',
        key,
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify({ name, categoryId: 1 }),
      });
    expect((await create('Rex')).status).toBe(201);
    const replayed = await create('Rex');
    contract.check('createPet', replayed);
    expect(replayed.header('Idempotency-Replayed')).toBe('true');
    contract.check('createPet', await create('Mia'));

    // A lock of the table keeps the first request in flight.
    const database = new pg.Client(env['DATABASE_URL']);
    await database.connect();
    await database.query('BEGIN; LOCK TABLE pets IN EXCLUSIVE MODE');
    const first = create('Rex', '"in-flight"');
    // Either request can arrive first.
    const second = create('Rex', '"in-flight"');
    const refused = await Promise.race([first, second]);
    contract.check('createPet', refused);
    expect(refused.json).toMatchObject({ code: 'idempotency_key_in_use', status: 409 });
    await database.query('COMMIT');
    await database.end();
    const statuses = (await Promise.all([first, second])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 409]);
  });

  test('417 and 431', async () => {
    await checkEach(({ method, path }) =>
      rawResponse(`${head(`${method} /v1${path}`)}Expect: magic\r\n\r\n`),
    );
    await checkEach(({ method, path }) =>
      rawResponse(`${head(`${method} /v1${path}`)}A: ${'a'.repeat(20_000)}\r\n\r\n`),
    );
  });

  test('429', async () => {
    const limited = await ops('keys', 'issue', '--plan', 'free', '--name', 'limited', '--minute', '1');
    await send(url('/pets'), { key: limited.key });
    await sendTo(gateway.url, limited.key);
  });

  test('504 while the pets service is paused, and 503 once it has stopped', async () => {
    await using shortTimeoutGateway = await startGateway({
      ...env,
      PETS_SERVICE_URL: petsService.url,
      UPSTREAM_TIMEOUT_MS: '500',
    });
    petsService.signal('SIGSTOP');
    await sendTo(shortTimeoutGateway.url);
    petsService.signal('SIGCONT');
    await petsService.stop();
    await sendTo(gateway.url);
    petsService = await startPetsService({ ...env, PETS_SERVICE_PORT: String(petsService.port) });
    await expect.poll(async () => (await send(url('/pets'), { key })).status).toBe(200);
  });

  test('502 for a response that is not HTTP', async () => {
    await using upstream = await startUpstream();
    upstream.response = (req) => req.socket.end('garbage\r\n\r\n');
    await using other = await startGateway({ ...env, PETS_SERVICE_URL: upstream.url });
    await sendTo(other.url);
  });

  test('500 if a query fails, and 410 from the sunset on', async () => {
    const publicKey = createPublicKey(readFileSync(join(directory.path, 'internal-token', 'public.pem')));
    let clock = Date.now();
    const database = await PGlite.create();
    await database.exec(`CREATE SEQUENCE pets_id_seq;
      CREATE VIEW pets AS SELECT 1 / (random() * 0) AS id, '' AS name, 1 AS category_id, '' AS status`);
    await using pets = await servePets(new PrismaPGlite(database), { publicKey, now: () => clock });
    await using other = await startGateway({ ...env, PETS_SERVICE_URL: pets.url });
    await sendTo(other.url);
    clock = Date.UTC(2030, 11, 5);
    const removed = await send(`${other.url}/v1/pets/1`, { key });
    contract.check('getPet', removed);
    expect(removed.json).toMatchObject({ code: 'endpoint_removed', status: 410 });
  });

  test('getUsage: 200, 400, 401, 408, 413, 417, 431', async () => {
    const response = await send(url('/usage'), { key });
    contract.check('getUsage', response);
    contract.check('getUsage', await send(url('/usage?days=3'), { key }));
    contract.check('getUsage', await send(url('/usage?days=0'), { key }));
    expect(response.json).toMatchObject({ plan: 'business', minute: { limit: 1000 }, bannedUntil: null });
    contract.check('getUsage', await send(url('/usage')));
    const line = head('GET /v1/usage');
    for (const bytes of [
      line.replace('Host: x\r\n', '') + '\r\n',
      line.slice(0, -1),
      `${line}Content-Length: 1048577\r\n\r\n`,
      `${line}Expect: magic\r\n\r\n`,
      `${line}A: ${'a'.repeat(20_000)}\r\n\r\n`,
    ])
      contract.check('getUsage', await rawResponse(bytes));
  });

  test('getUsage: 429 for an address without a valid key, 503 while Redis is unavailable', async () => {
    await ops('policy', 'set', '--anonymous-minute', '1');
    await expect.poll(async () => (await send(url('/usage'))).status).toBe(429);
    contract.check('getUsage', await send(url('/usage')));
    await ops('policy', 'set', '--anonymous-minute', '60');
    await using other = await startGateway({ ...env, REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    contract.check('getUsage', await send(`${other.url}/v1/usage`, { key }));
  });

  test('every Link of a response, and every link in the description, leads somewhere', async () => {
    const described = Array.from(
      JSON.stringify(document).matchAll(/\]\(([^()]*)\)/g),
      ([, target = '']) => target,
    );
    const paths = [...contract.linkTargets, ...described].map((target) => {
      const { pathname, search, hash } = new URL(target, gateway.url);
      return `${pathname}${search}${hash}`;
    });
    for (const code of knownErrorCodes(document)) paths.push(`/docs#${code}`);
    expect(paths).toContainEqual(expect.stringContaining('/v1/pets?'));
    for (const path of new Set(paths)) {
      const [, anchor] = path.split('#');
      const part = anchor === undefined ? '' : ` id="${anchor}"`;
      const response = await send(`${gateway.url}${path}`, { key });
      expect(response.status, path).toBe(200);
      expect(response.text, path).toContain(part);
    }
  });

  test('every documented response has been seen', () => {
    expect(contract.unseen().toSorted()).toEqual(causedByBugs);
  });
});
