import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/keys/api-key-format.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import type { Ended } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = [process.execPath, '--disable-warning=ExperimentalWarning', 'gateway/faces/command/main.ts'];

describe('ops keys show, with a key on standard input', { timeout: 120_000 }, () => {
  const kit = shared(startOpsKit);

  /** Runs a program, and writes the input when the output contains the prompt. */
  async function runWithInput([command = '', ...args]: string[], input: string, prompt = ''): Promise<Ended> {
    const child = spawn(command, args, {
      cwd: root,
      env: { PATH: process.env['PATH'], TERM: 'xterm', REDIS_URL: kit.server.url },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', resolve);
    });
    await expect.poll(() => stdout).toContain(prompt);
    child.stdin.on('error', () => {});
    if (prompt === '') child.stdin.end(input);
    else child.stdin.write(input);
    return { code: await ended, stdout, stderr };
  }
  const find = (input: string, ...options: string[]) =>
    runWithInput([...program, 'keys', 'show', ...options], input);

  test('finds the id of a key on standard input, also within other text, and never shows the key', async () => {
    const { key, id } = await kit.issue({ plan: 'pro', name: 'ACME' });
    for (const input of [key, `${key}\n`, `curl -H 'Authorization: Bearer ${key}' https://example.com\r\n`]) {
      const found = await find(input, '--json');
      expect(found).toMatchObject({ code: 0, stderr: '' });
      expect(JSON.parse(found.stdout)).toMatchObject({ id, plan: 'pro', name: 'ACME', state: 'valid' });
      expect(found.stdout).not.toContain(key.slice(10));
    }
    expect((await find(key)).stdout).toMatch(new RegExp(`^id +${id}\n`));
    expect(JSON.stringify(await kit.json('audit'))).not.toContain(key.slice(10));
    await kit.json('keys', 'revoke', '--yes', id);
    expect((await find(key)).stdout).toMatch(/^state +revoked$/m);
  });

  test('sends the hash of the key to Redis, and not the key', { tags: ['redis-server'] }, async () => {
    const { key, keyHash } = await kit.issue();
    const monitor = await monitorRedis(kit.server.port);
    await find(key);
    const sent = () => JSON.stringify(monitor.commands);
    await expect.poll(sent).toContain(keyHash);
    monitor.close();
    expect(sent()).not.toContain(key.slice(10));
  });

  test('refuses anything else without repeating it', async () => {
    const { key, customerId } = await kit.issue();
    const unknown = generateApiKey();
    const mistyped = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
    const cases: [input: string, error: RegExp][] = [
      ['', /^ops: the text contains no complete API key: a key is pets_ and 38 letters and digits/],
      [mistyped, /^ops: the text contains no complete API key/],
      [`${key}x`, /^ops: the text contains no complete API key/],
      [`${key} ${unknown}`, /^ops: the text contains 2 API keys: give one\n$/],
      [unknown, /^ops: this API key has no record: it was issued for another Redis/],
      ['x'.repeat(2_000_000), /^ops: the input is too long to be a key\n$/],
    ];
    for (const [input, error] of cases) {
      const { code, stdout, stderr } = await find(input);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(error);
      for (const secret of [key, unknown]) expect(stderr).not.toContain(secret.slice(10, -1));
    }
    await kit.redis.hset(redisKeys.customer(customerId), { minute: 'lots' });
    expect((await find(key)).stderr).toMatch(/^ops: gw:customer:\{cus_\w+\} is invalid \(minute /);
  });

  test('asks on a terminal, which does not show the key', { tags: ['script'] }, async () => {
    const { key, id } = await kit.issue();
    const command = [...program, 'keys', 'show'].join(' ');
    const script = ['script', '--quiet', '--return', '--echo', 'always', '--command', command, '/dev/null'];
    const { code, stdout } = await runWithInput(script, `${key}\r`, 'API key (not shown): ');
    expect(code).toBe(0);
    expect(stdout).toContain(id);
    expect(stdout).not.toContain(key.slice(10));
  });
});
