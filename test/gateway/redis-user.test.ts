import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { runProgram, startGateway } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';

describe('the Redis user of OPERATIONS.md', { tags: ['redis-server'], timeout: 120_000 }, () => {
  let kit: GatewayKit;
  let url: string;
  let directory: TemporaryDirectory;

  beforeAll(async () => {
    kit = await startGatewayKit();
    directory = await temporaryDirectory();
    const document = await readFile(new URL('../../gateway/OPERATIONS.md', import.meta.url), 'utf8');
    const [, rules = ''] = /^ACL SETUSER gateway (.+)$/m.exec(document) ?? [];
    await kit.server.redis.acl('SETUSER', 'gateway', ...rules.split(' '));
    url = `redis://gateway:secret@127.0.0.1:${kit.server.port}`;
  });
  afterAll(async () => {
    await kit[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  const ops = (...args: string[]) => runProgram(['gateway/ops/main.ts', ...args], { REDIS_URL: url });
  const denied = () => kit.server.redis.acl('LOG');

  test('is allowed all that the gateway does', async () => {
    await using gateway = await startGateway({ REDIS_URL: url, PETS_SERVICE_URL: kit.upstream.url });
    const { key } = await kit.issue({ minute: 2 });
    const statuses = [];
    for (let times = 0; times < 3; times += 1) {
      statuses.push((await send(`${gateway.url}/v1/pets`, { key })).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect((await send(`${gateway.url}/v1/usage?days=30`, { key })).status).toBe(200);
    expect((await send(`${gateway.url}/v1/pets`)).status).toBe(401);
    // Busy keys are reported every two seconds.
    await expect.poll(() => kit.redis.keys('gw:{busy}:*')).not.toEqual([]);
    await expect.poll(() => kit.redis.keys('gw:{traffic}:*')).not.toEqual([]);
    await gateway.stop();
    expect(gateway.output()).not.toMatch(/"level":[45]0/);
    expect(await denied()).toEqual([]);
  });

  test('is allowed all that the ops command does', async () => {
    const { id } = await kit.issue();
    const file = join(directory.path, 'keys.jsonl');
    const plans = join(directory.path, 'plans.yaml');
    const commands = [
      ['keys', 'issue', '--plan', 'free', '--name', 'New'],
      ['keys', 'list'],
      ['keys', 'show', id],
      ['keys', 'set', id, '--minute', '5'],
      ['keys', 'rotate', id],
      ['keys', 'revoke', '--yes', id],
      ['keys', 'export'],
      ['keys', 'import', file],
      ['keys', 'reindex'],
      ['usage', id],
      ['usage', id, '--days', '30'],
      ['usage', 'export', '--from', '2026-11-01'],
      ['usage', 'retention', '--days', '500'],
      ['top'],
      ['traffic'],
      ['bans', 'add', id, '--for', '1h', '--reason', 'flood'],
      ['bans', 'list'],
      ['bans', 'lift', id],
      ['plans', 'list'],
      ['plans', 'set', 'gold', '--create', '--minute', '5', '--day', '50'],
      ['plans', 'trial', 'gold', '--minute', '4'],
      ['plans', 'trial', 'gold'],
      ['plans', 'trial', 'gold', '--apply'],
      ['keys', 'trial', id],
      ['plans', 'export', plans],
      ['plans', 'diff', plans],
      ['plans', 'remove', 'gold', '--yes'],
      ['plans', 'apply', plans],
      ['policy', 'set', '--ban-seconds', '30'],
      ['policy', 'reset'],
      ['policy', 'show'],
      ['audit'],
    ];
    await writeFile(file, (await ops('keys', 'export')).stdout);
    for (const args of commands) {
      expect(await ops(...args), args.join(' ')).toMatchObject({ code: 0, stderr: '' });
    }
    expect(await denied()).toEqual([]);
  });

  test('may lack INFO: requests are served, all lines are JSON, and the ops command says what it cannot check', async () => {
    await kit.server.redis.acl('SETUSER', 'gateway', '-info');
    await using gateway = await startGateway({ REDIS_URL: url, PETS_SERVICE_URL: kit.upstream.url });
    const { id, key } = await kit.issue();
    expect((await send(`${gateway.url}/v1/pets`, { key })).status).toBe(200);
    const lines = gateway
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: number; msg: string });
    expect(lines.filter(({ level }) => level >= 40).map(({ msg }) => msg)).toEqual([
      'the Redis user may not run INFO; settings of Redis that may lose keys are not checked',
    ]);

    expect(await ops('keys', 'show', id)).toMatchObject({ code: 0, stderr: '' });
    const { code, stderr } = await ops('keys', 'revoke', '--yes', id);
    expect(code).toBe(0);
    expect(stderr).toBe(
      'ops: warning: the Redis user may not run INFO and WAIT, so it is unknown whether replicas have the change\n',
    );
  });
});
