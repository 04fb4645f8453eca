import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { freePort } from '../support/http/free-port.ts';
import { send } from '../support/http/http.ts';
import { snapshot, startOpsKit } from '../support/kits/ops-kit.ts';
import { runOps, runProgram, startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

const program = 'gateway/faces/command/main.ts';

describe('the ops command', () => {
  const kit = shared(startOpsKit);

  test(
    'invalid input prints one line to standard error, exits with 2, and changes nothing',
    { timeout: 400_000 },
    async () => {
      const { id, customerId } = await kit.issue({ name: 'Kept' });
      const before = await snapshot(kit.redis);
      const invalidInputs: [string[], RegExp][] = [
        [
          ['keys', 'issue', '--plan', 'free', '--name', 'x', '--expires', 'soon'],
          /'soon' is invalid.*ISO 8601/,
        ],
        [['keys', 'issue', '--plan', 'free'], /needs --plan and --name/],
        [
          ['keys', 'revoke', id],
          /^ops: Revoke key_\w+ \("Kept", plan free\) for good, from its next request on\? There is no terminal to ask on: give --yes to do it\n$/,
        ],
        [['keys', 'set', id], /nothing to set/],
        [
          ['plans', 'set', 'gold', '--create'],
          /there is nothing to set: give --minute N or --hour N or --day N or --month N/,
        ],
        [['plans', 'apply', '/dev/zero'], /\/dev\/zero has more than 262144 bytes/],
        [['keys', 'rotate', id, '--grace', '5'], /'5' is invalid.*duration/],
        [['bans', 'add', id, '--for', '366d', '--reason', 'x'], /365d at most/],
        [
          ['keys', 'issue', '--customer', customerId, '--plan', 'pro'],
          /plan and limits are those of the customer/,
        ],
        [['keys', 'show', 'nobody'], /there is no API key with the id "nobody"/],
        [['keys', 'list', '--search', 'f'.repeat(64)], /no key with this SHA-256 has a record/],
        [
          ['plans', 'set', 'pro', '--minute', 'none', '--day', 'none'],
          /pro needs a minute limit: it is a plan of the specification/,
        ],
        [
          ['audit', '--action', 'everything'],
          /is the beginning of no action; they begin with api-tokens, bans,/,
        ],
        [['frobnicate'], /unknown command 'frobnicate'/],
      ];
      for (const [args, message] of invalidInputs) {
        const { code, stdout, stderr } = await kit.run(...args, '--json');
        expect({ code, stdout }, `${args.join(' ')}: ${stderr}`).toEqual({ code: 2, stdout: '' });
        expect(stderr).toMatch(message);
        expect(stderr).toMatch(/^ops: [^\n]+\n$/);
      }
      expect(await snapshot(kit.redis)).toEqual(before);
    },
  );

  test('an unreachable Redis is reported in one line without its password, with exit code 1', async () => {
    const port = await freePort();
    const { code, stderr } = await runOps(['keys', 'list'], {
      REDIS_URL: `redis://:hunter2@127.0.0.1:${port}`,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^ops: Redis at 127\\.0\\.0\\.1:${port} cannot be reached: .*\\n$`));
    expect(stderr).not.toContain('hunter2');
  });

  test('OPS_AS names the person, is checked as --as is, and gives way to it', async () => {
    const set = `${program} plans set named --create --minute 1 --day 2`.split(' ');
    const env = { REDIS_URL: kit.server.url, OPS_AS: 'Carol' };
    expect((await runProgram(set, env)).code).toBe(0);
    expect((await runProgram([...set, '--hour', '2', '--as', 'Dave'], env)).code).toBe(0);
    const entries = await kit.json<{ who: string }[]>('audit', '--target', 'named');
    expect(entries.map(({ who }) => who)).toEqual(['Carol', 'Dave']);
    expect((await runProgram([...set, '--hour', '3'], { ...env, OPS_AS: '' })).code).toBe(0);
    const { code, stderr } = await runProgram(set, { ...env, OPS_AS: ' ' });
    expect(code).toBe(2);
    expect(stderr).toMatch(/value ' ' from env 'OPS_AS' is invalid. It has to be 1 to 100 characters/);
  });
});

test('a malformed REDIS_URL is an invalid setting, and is not repeated', async () => {
  const { code, stdout, stderr } = await runOps(['plans', 'list'], {
    REDIS_URL: 'http://:hunter2@example.org',
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^ops: REDIS_URL is not a URL such as [^\n]+\n$/);
  expect(stderr).not.toContain('hunter2');
});

test('services check accepts the example, and names the line of what is wrong', async () => {
  const check = (file: string, ...more: string[]) => runOps(['services', 'check', file, ...more]);
  const example = 'gateway/upstream/example/services.yaml';
  const names = 'pets-service at http://127.0.0.1:3001; orders at http://127.0.0.1:3003';
  expect(await check(example)).toMatchObject({ code: 0, stdout: `services.yaml is valid: ${names}\n` });
  expect(JSON.parse((await check(example, '--json')).stdout)).toMatchObject({
    services: [{ name: 'pets-service' }, { name: 'orders', timeoutMs: 1500, connections: 32 }],
  });
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'bad.yaml');
  await writeFile(file, "services:\n  orders: { description: none.yaml, urls: ['http://127.0.0.1:3003'] }\n");
  expect(await check(file)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/bad\.yaml:2:13: none\.yaml can't be read \(ENOENT/) as string,
  });
});

describe('the ops command without REDIS_URL', () => {
  test('issues no token if no service has created a key pair', async () => {
    await using directory = await temporaryDirectory();
    const { code, stderr } = await runOps(['tokens', 'issue', 'billing'], { DATA_DIR: directory.path });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ops: DATA_DIR: \S+\/private\.pem can't be read \([^\n]+\)\n$/);
    expect(await readdir(directory.path)).toEqual([]);
  });

  test('issues tokens that the pets service accepts, and records who issued them', async () => {
    await using directory = await temporaryDirectory();
    await using server = await startAnyRedis();
    const env = { DATA_DIR: directory.path };
    // As a gateway does at its start.
    loadPrivateKey(undefined, directory.path);
    await using service = await startPetsService({ ...env });
    const issue = `${program} tokens issue billing --ttl 60s --as Alice --json`.split(' ');
    const withRedis = { ...env, REDIS_URL: server.url };
    const { code, stdout } = await runProgram(issue, withRedis);
    expect(code).toBe(0);
    const issued = JSON.parse(stdout) as { token: string; service: string; expiresAt: string };
    expect(issued.service).toBe('billing');
    expect((await send(`${service.url}/v1/pets`, { key: issued.token })).status).toBe(200);
    expect((await send(`${service.url}/v1/pets`)).status).toBe(401);

    const { kid } = JSON.parse(atob(issued.token.split('.')[0] ?? '')) as { kid: string };
    const audit = await runOps(['audit', '--json'], withRedis);
    const entries = JSON.parse(audit.stdout) as { action: string }[];
    // The command was the first to use this Redis, so it has also written the defaults.
    expect(entries.filter(({ action }) => !action.endsWith('.seed'))).toEqual([
      expect.objectContaining({
        who: 'Alice',
        action: 'tokens.issue',
        target: 'billing',
        before: null,
        after: { ttlSeconds: 60, expiresAt: issued.expiresAt, keyId: kid },
      }),
    ]);
    expect(audit.stdout).not.toContain(issued.token.split('.')[2]);

    // A token that cannot be recorded in the audit log is not issued.
    const unaudited = await runProgram(issue, env);
    expect(unaudited).toMatchObject({ code: 1, stdout: '' });
    expect(unaudited.stderr).toMatch(/^ops: no gateway keeps a Redis in the data directory .*\n$/);
  });
});
