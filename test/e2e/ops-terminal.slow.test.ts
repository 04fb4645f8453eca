import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/keys/api-key-format.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { compileCache, runProgram } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { outputOf } from '../support/programs.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';

const program = 'gateway/faces/command/main.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Runs one of the project's programs on a terminal, which script makes (Debian: bsdutils), and types the input when the
 * output contains the prompt.
 * @returns the exit code, and what the terminal shows
 */
async function typeOnTerminal(
  args: string[],
  env: Record<string, string>,
  { prompt, input }: { prompt: string; input: string },
): Promise<{ code: unknown; output: string }> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...args].join(' ');
  const options = ['--quiet', '--return', '--echo', 'always', '--command', command, '/dev/null'];
  const child = spawn('script', options, {
    cwd: root,
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...compileCache(), ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  const output = outputOf(child);
  let isTyped = false;
  child.stdout.on('data', () => {
    if (isTyped || !output().includes(prompt)) return;
    isTyped = true;
    child.stdin.write(input);
  });
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const [code]: unknown[] = await once(child, 'close');
  clearTimeout(killTimer);
  return { code, output: output() };
}

describe('the ops command', { timeout: 120_000 }, () => {
  const kit = shared(startOpsKit);

  const env = () => ({ REDIS_URL: kit.server.url });
  const find = (input: string, ...options: string[]) =>
    runProgram([program, 'keys', 'show', ...options], env(), { input });

  describe('reads a key from standard input', () => {
    test('and sends its hash to Redis, and not the key', { tags: ['redis-server'] }, async () => {
      const { key, keyHash } = await kit.issue();
      const monitor = await monitorRedis(kit.server.port);
      await find(key);
      const sent = () => JSON.stringify(monitor.commands);
      await expect.poll(sent).toContain(keyHash);
      monitor.close();
      expect(sent()).not.toContain(key.slice(10));
    });

    test('and refuses anything else without repeating it', async () => {
      const { key } = await kit.issue();
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
    });
  });

  describe('on a terminal', { tags: ['script'] }, () => {
    test('asks for a key, which the terminal does not show', async () => {
      const { key, id } = await kit.issue();
      const typing = { prompt: 'API key (not shown): ', input: `${key}\r` };
      const { code, output } = await typeOnTerminal([program, 'keys', 'show'], env(), typing);
      expect(code).toBe(0);
      expect(output).toContain(id);
      expect(output).not.toContain(key.slice(10));
    });

    test('asks before a revocation, and only yes means yes', async () => {
      const { id } = await kit.issue({ name: 'Asked' });
      const ask = (input: string) =>
        typeOnTerminal([program, 'keys', 'revoke', id], env(), { prompt: '[y/N] ', input });
      for (const input of ['\r', 'no\r', '\u{3}', '\u{4}']) {
        const { code, output } = await ask(input);
        expect(code, output).toBe(2);
        expect(output).toContain(`Revoke ${id} ("Asked", plan free) for good`);
        expect(output).toContain('ops: nothing was changed');
      }
      expect(await kit.json('keys', 'show', id)).toMatchObject({ state: 'active' });
      expect(await ask('y\r')).toMatchObject({ code: 0 });
      expect(await kit.json('keys', 'show', id)).toMatchObject({ state: 'revoked' });
      // There is nothing to lose any more.
      expect((await kit.run('keys', 'revoke', id)).code).toBe(0);
    });

    test('a service logs human-readable lines', async () => {
      const ports = { GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0' };
      // Ctrl-C, which the terminal driver turns into SIGINT.
      const typing = { prompt: 'gateway listens', input: '\u{3}' };
      const { output } = await typeOnTerminal(['gateway/server.ts'], { ...env(), ...ports }, typing);
      expect(output).toMatch(/gateway: gateway listens on port \d+/);
      expect(output).not.toContain('{"level"');
    });
  });
});
