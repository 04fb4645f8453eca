import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { createSecretFinder, keepSecrets } from '../support/checks/evidence.ts';
import { postJson, send, sendRaw } from '../support/http/http.ts';
import { contents, startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { hasRedisServer } from '../support/stores/redis-server.ts';

interface IssuedByOps {
  key: string;
  id: string;
}

/** The commands and environments of a process and of all that it has started. */
async function processes(pid: number): Promise<string> {
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  const children = (await read(`task/${pid}/children`)).split(' ').filter((child) => child !== '');
  const ofChildren = await Promise.all(children.map((child) => processes(Number(child))));
  return [await read('comm'), await read('cmdline'), await read('environ'), ...ofChildren].join('\n');
}

async function endRedis(url: string): Promise<void> {
  const redis = new Redis(url, { retryStrategy: () => null });
  await redis.shutdown('NOSAVE').catch(() => {});
  redis.disconnect();
}

describe('after all kinds of use, an API key in clear or a token is found', () => {
  let kit: OpsKit;
  let secrets: string[];
  let find: (text: string) => string[];
  /** What operators are told who give a key in place of its id. */
  let mistakes = '';

  beforeAll(async () => {
    kit = await startOpsKit();
    if (hasRedisServer)
      await kit.redis.config('SET', 'slowlog-log-slower-than', 0, 'slowlog-max-len', 100_000);
    const { key } = await kit.issue({ minute: 3 });
    const { key: issued, id } = await kit.json<IssuedByOps>(
      'keys',
      'issue',
      '--plan',
      'free',
      '--name',
      'ACME',
    );
    const { key: rotated } = await kit.json<{ key: string }>('keys', 'rotate', id, '--grace', '1h');
    const unknown = generateApiKey();
    const typo = `${key.slice(0, -1)}!`;
    for (const sent of [key, issued, rotated, unknown, typo]) {
      for (let request = 0; request < 5; request += 1) await kit.pets(sent);
      await postJson(`${kit.gateway.url}/v1/pets`, sent, '{');
      await send(`${kit.gateway.url}/v1/nothing`, { key: sent });
      await send(`${kit.gateway.url}/v1/usage`, { key: sent });
      await send(`${kit.gateway.url}/v1/pets`, { headers: { authorization: `Basic ${sent}` } });
      await send(`${kit.gateway.url}/v1/pets`, { headers: { authorization: sent } });
      await sendRaw(kit.gateway.port, `GET /v1/pets HTTP/1.1\r\nAuthorization: Bearer ${sent}\r\nA\r\n\r\n`);
    }
    // Operators paste the wrong thing, too.
    for (const command of [
      ['keys', 'show', key],
      ['keys', 'list', '--after', key],
      ['bans', 'add', key, '--for', '1h', '--reason', 'flood'],
    ]) {
      const { code, stdout, stderr } = await kit.run(...command);
      expect(code).toBe(2);
      mistakes += stdout + stderr;
    }
    await kit.json('keys', 'revoke', id);
    const tokens = kit.upstream.seen.map(({ headers }) =>
      (headers.authorization ?? '').replace('Bearer ', ''),
    );
    secrets = [key, issued, rotated, unknown, ...new Set(tokens)];
    keepSecrets(secrets.join('\n'));
    find = createSecretFinder(secrets);
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  test('wherever there is one', () => {
    expect(secrets.length).toBeGreaterThanOrEqual(6);
    for (const secret of secrets) expect(find(`x=${secret};`)).toHaveLength(1);
  });

  test('nowhere in Redis', async () => {
    const content = await contents(kit.redis);
    expect(content.length).toBeGreaterThan(10);
    expect(find(JSON.stringify(content))).toEqual([]);
  });

  test('nowhere in the files and the slow log of Redis', { tags: ['redis-server'] }, async () => {
    const slow = await kit.redis.slowlog('GET', -1);
    expect(JSON.stringify(slow)).toMatch(/evalsha/i);
    expect(find(JSON.stringify(slow))).toEqual([]);
    const [, directory = ''] = await kit.redis.config('GET', 'dir');
    const files = await readdir(directory, { recursive: true, withFileTypes: true });
    const written = files.filter((file) => file.isFile());
    expect(written.map(({ name }) => name).join()).toContain('aof');
    for (const { parentPath, name } of written) {
      expect(find(name)).toEqual([]);
      expect(find(await readFile(join(parentPath, name), 'latin1'))).toEqual([]);
    }
  });

  test('upstream as a token alone: no header, no path and no body has a key', () => {
    const keys = createSecretFinder(secrets.filter((secret) => secret.startsWith('pets_')));
    const { seen } = kit.upstream;
    expect(seen.length).toBeGreaterThan(10);
    expect(keys(JSON.stringify(seen))).toEqual([]);
    expect(seen.filter(({ headers }) => headers.authorization?.startsWith('Bearer eyJ') !== true)).toEqual(
      [],
    );
  });

  test('nowhere in what operators are told who give a key in place of its id', () => {
    expect(mistakes).toContain('that is an API key itself');
    expect(find(mistakes)).toEqual([]);
  });

  test('nowhere in what the gateway says of itself', async () => {
    const metrics = await send(`${kit.gateway.adminUrl}/metrics`);
    const ready = await send(`${kit.gateway.adminUrl}/readyz`);
    expect(find(kit.gateway.output() + metrics.text + ready.text)).toEqual([]);
  });
});

describe('a gateway with stores of its own', () => {
  let directory: TemporaryDirectory;
  let gateway: Service;
  let key: string;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    gateway = await startGateway({
      DATA_DIR: directory.path,
      DEMO: 'true',
      PETS_SERVICE_URL: 'http://127.0.0.1:9',
      PATH: process.env['PATH'] ?? '',
      // Something goes wrong that nobody has thought of.
      NODE_OPTIONS: `--import=data:text/javascript,process.on('SIGUSR2',()=>{throw(new(Error)('crash'))})`,
    });
    key = (await readFile(join(directory.path, 'demo-api-key'), 'utf8')).trim();
    keepSecrets(key);
    await send(`${gateway.url}/v1/pets`, { key });
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    // A gateway that crashes leaves its redis-server to the next start.
    if (hasRedisServer) await endRedis(await readFile(join(directory.path, 'redis.url'), 'utf8'));
    await directory[Symbol.asyncDispose]();
  });

  test('shows neither a key nor its private key in the processes that it consists of', async () => {
    const privateKey = await readFile(join(directory.path, 'internal-token', 'private.pem'), 'utf8');
    const shown = await processes(gateway.pid);
    expect(shown).toContain('gateway/server.ts');
    expect(/(redis|valkey)-server/.test(shown)).toBe(hasRedisServer);
    expect(createSecretFinder([key])(shown)).toEqual([]);
    for (const line of privateKey.split('\n').filter(Boolean)) expect(shown).not.toContain(line);
  });

  test('names no file after a secret, and keeps those that hold one from others', async () => {
    const files = await readdir(directory.path, { recursive: true });
    expect(createSecretFinder([key])(files.join('\n'))).toEqual([]);
    for (const file of ['demo-api-key', 'internal-token/private.pem']) {
      expect((await stat(join(directory.path, file))).mode & 0o077).toBe(0);
    }
  });

  test('that crashes in the middle of a request tells where, and nothing of the request', async () => {
    // Half a request: its headers are read, its body never comes.
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
  });
});
