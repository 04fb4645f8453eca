import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/keys/api-key-format.ts';
import { createSecretFinder, recordSecrets } from '../support/checks/evidence.ts';
import { postJson, send, sendRaw } from '../support/http/http.ts';
import { contents, startOpsKit } from '../support/kits/ops-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { hasRedisServer } from '../support/stores/redis-server.ts';

interface IssuedByOps {
  key: string;
  id: string;
}

/** Command lines and environments of a process and its descendants. */
async function describeProcesses(pid: number): Promise<string> {
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  const children = (await read(`task/${pid}/children`)).split(' ').filter((child) => child !== '');
  const ofChildren = await Promise.all(children.map((child) => describeProcesses(Number(child))));
  return [await read('comm'), await read('cmdline'), await read('environ'), ...ofChildren].join('\n');
}

async function shutDownRedis(url: string): Promise<void> {
  const redis = new Redis(url, { retryStrategy: () => null });
  await redis.shutdown('NOSAVE').catch(() => {});
  redis.disconnect();
}

// The command warns of the embedded Redis, which writes no append-only file.
const onServer = { tags: ['redis-server'] };
describe('API keys and tokens after requests and ops commands of all kinds', onServer, () => {
  let secrets: string[];
  let find: (text: string) => string[];

  const kit = shared(startOpsKit);
  beforeAll(async () => {
    await kit.redis.config('SET', 'slowlog-log-slower-than', 0, 'slowlog-max-len', 100_000);
    const { key } = await kit.issue({ minute: 3 });
    const { key: issued, id } = await kit.json<IssuedByOps>(
      ...'keys issue --plan free --name ACME'.split(' '),
    );
    const { key: rotated } = await kit.json<{ key: string }>('keys', 'rotate', id, '--grace', '1h');
    const unknown = generateApiKey();
    const typo = `${key.slice(0, -1)}!`;
    for (const usedKey of [key, issued, rotated, unknown, typo]) {
      for (let request = 0; request < 5; request += 1) await kit.pets(usedKey);
      await postJson(`${kit.gateway.url}/v1/pets`, usedKey, '{');
      await send(`${kit.gateway.url}/v1/nothing`, { key: usedKey });
      await send(`${kit.gateway.url}/v1/usage`, { key: usedKey });
      await send(`${kit.gateway.url}/v1/pets`, { headers: { authorization: `Basic ${usedKey}` } });
      await send(`${kit.gateway.url}/v1/pets`, { headers: { authorization: usedKey } });
      await sendRaw(
        kit.gateway.port,
        `GET /v1/pets HTTP/1.1\r\nAuthorization: Bearer ${usedKey}\r\nA\r\n\r\n`,
      );
    }
    // An operator may paste a key instead of its id.
    await kit.run('keys', 'show', key);
    await kit.run('bans', 'add', key, '--for', '1h', '--reason', 'flood');
    await kit.json('keys', 'revoke', '--yes', id);
    const tokens = kit.upstream.seen.map(({ headers }) =>
      (headers.authorization ?? '').replace('Bearer ', ''),
    );
    secrets = [key, issued, rotated, unknown, ...new Set(tokens)];
    recordSecrets(secrets.join('\n'));
    find = createSecretFinder(secrets);
  });

  test('are found by the secret finder', () => {
    expect(secrets.length).toBeGreaterThanOrEqual(6);
    for (const secret of secrets) expect(find(`x=${secret};`)).toHaveLength(1);
  });

  test('are not in Redis', async () => {
    const content = await contents(kit.redis);
    expect(content.length).toBeGreaterThan(10);
    expect(find(JSON.stringify(content))).toEqual([]);
  });

  test('are not in the files or the slow log of Redis', async () => {
    const slowLog = await kit.redis.slowlog('GET', -1);
    expect(JSON.stringify(slowLog)).toMatch(/evalsha/i);
    expect(find(JSON.stringify(slowLog))).toEqual([]);
    const [, directory = ''] = await kit.redis.config('GET', 'dir');
    const files = await readdir(directory, { recursive: true, withFileTypes: true });
    const regularFiles = files.filter((file) => file.isFile());
    expect(regularFiles.map(({ name }) => name).join()).toContain('aof');
    for (const { parentPath, name } of regularFiles) {
      expect(find(name)).toEqual([]);
      expect(find(await readFile(join(parentPath, name), 'latin1'))).toEqual([]);
    }
  });
});

describe('a gateway with embedded stores', () => {
  let key: string;
  let redisUrl: string;

  const directory = shared(temporaryDirectory);
  const gateway = shared(() =>
    startGateway({
      DATA_DIR: directory.path,
      DEMO: 'true',
      PETS_SERVICE_URL: 'http://127.0.0.1:9',
      PATH: process.env['PATH'] ?? '',
      // Makes SIGUSR2 an uncaught exception.
      NODE_OPTIONS: `--import=data:text/javascript,process.on('SIGUSR2',()=>{throw(new(Error)('crash'))})`,
    }),
  );
  beforeAll(async () => {
    key = (await readFile(join(directory.path, 'demo-api-key'), 'utf8')).trim();
    redisUrl = await readFile(join(directory.path, 'redis.url'), 'utf8');
    recordSecrets(key);
    await send(`${gateway.url}/v1/pets`, { key });
  });

  afterAll(async () => {
    // After a crash, redis-server keeps running for the next start.
    if (hasRedisServer) await shutDownRedis(redisUrl);
  });

  test('has no API key, private key or password of Redis in the command lines and environments of its processes', async () => {
    const privateKey = await readFile(join(directory.path, 'internal-token', 'private.pem'), 'utf8');
    const processInfo = await describeProcesses(gateway.pid);
    expect(processInfo).toContain('gateway/server.ts');
    expect(/(redis|valkey)-server/.test(processInfo)).toBe(hasRedisServer);
    expect(createSecretFinder([key])(processInfo)).toEqual([]);
    for (const line of privateKey.split('\n').filter(Boolean)) expect(processInfo).not.toContain(line);
    const { password } = new URL(redisUrl);
    expect(password).toMatch(/^[\da-f]{64}$/);
    expect(processInfo).not.toContain(password);
  });

  test('has no secret in its file names, and only the owner can read files with a secret', async () => {
    const files = await readdir(directory.path, { recursive: true });
    expect(createSecretFinder([key])(files.join('\n'))).toEqual([]);
    for (const file of ['demo-api-key', 'internal-token/private.pem', 'redis.url']) {
      expect((await stat(join(directory.path, file))).mode & 0o077).toBe(0);
    }
  });

  test('logs the error of a crash during a request, and nothing of the request', async () => {
    // The gateway reads the headers, and the body never arrives.
    const response = sendRaw(
      gateway.port,
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 9\r\n\r\n`,
    );
    await expect.poll(async () => (await send(`${gateway.url}/v1/usage`, { key })).status).toBe(200);
    gateway.signal('SIGUSR2');
    expect(await gateway.exited).not.toBe(0);
    await response;
    expect(gateway.output()).toContain('Error: crash');
    expect(createSecretFinder([key])(gateway.output())).toEqual([]);
    expect(gateway.output()).not.toContain('PRIVATE KEY');
    expect(gateway.output()).not.toContain(new URL(redisUrl).password);
  });
});
