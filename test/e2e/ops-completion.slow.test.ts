import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { runOps, runProgram } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Interactive shells without the settings of the person who runs the tests. */
const shells = [
  { shell: 'bash', start: 'bash --norc --noprofile -i', load: '. ', tags: ['script'] },
  { shell: 'zsh', start: 'zsh -f -i', load: '. ', tags: ['script', 'zsh'] },
  { shell: 'fish', start: 'fish --no-config -i', load: 'source ', tags: ['script', 'fish'] },
];

describe('ops completion', { timeout: 120_000 }, () => {
  let kit: OpsKit;
  let directory: TemporaryDirectory;
  let acme: IssuedKey;

  beforeAll(async () => {
    kit = await startOpsKit();
    directory = await temporaryDirectory();
    await kit.redis.hset(redisKeys.plan('gold-2026'), { minute: 5, day: 50 });
    acme = await kit.issue({ name: 'ACME', plan: 'gold-2026' });
    await kit.issue({ name: 'Other' });
  });
  afterAll(async () => {
    await kit[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  /** Completes the words that a shell has before the cursor. */
  async function complete(...words: string[]): Promise<string[]> {
    const { code, stdout, stderr } = await kit.run('__complete', '--', ...words);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
  }

  for (const { shell, start, load, tags } of shells) {
    test(`completes commands, options, plans and ids in ${shell}`, { tags }, async () => {
      const script = await kit.run('completion', shell);
      expect(script).toMatchObject({ code: 0, stderr: '' });
      const file = join(directory.path, `ops.${shell}`);
      await writeFile(file, script.stdout);

      const child = spawn('script', ['--quiet', '--command', start, '/dev/null'], {
        cwd: directory.path,
        env: {
          PATH: process.env['PATH'],
          HOME: directory.path,
          TERM: 'xterm',
          REDIS_URL: kit.server.url,
          PS1: 'ready> ',
        },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      onTestFinished(() => {
        child.kill('SIGKILL');
      });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      /** Types a line with a tab in it, and waits for what only the completed command prints. */
      const type = async (line: string, expected: RegExp) => {
        child.stdin.write(`${line}\r`);
        await expect.poll(() => output, { timeout: 30_000 }).toMatch(expected);
      };
      // The quotes keep the word from being found in what the terminal echoes.
      await type(`${load}${file}; echo lo""aded`, /loaded/);
      await type('ops --vers\t', /\b1\.0\.0\b/);
      await type(`ops ke\tsho\t${acme.id.slice(0, 12)}\t`, /name +ACME/);
      await type(
        'ops keys li\t--pla\tgold\t--output csv',
        new RegExp(`${acme.id},${acme.customerId},gold-2026,ACME`),
      );
      child.stdin.write('exit\r');
    });
  }

  test('knows names of plans, and ids with the newest first', async () => {
    expect(await complete('keys', 'issue', '--plan', '')).toEqual([
      'business',
      'enterprise',
      'free',
      'gold-2026',
      'pro',
    ]);
    expect(await complete('plans', 'set', 'an')).toEqual(['anonymous']);
    expect(await complete('bans', 'add', acme.id.slice(0, 15))).toEqual([acme.id]);
    // Nothing is known of the id yet.
    expect((await complete('usage', 'key')).slice(0, 2)).toContain(acme.id);
    expect(await complete('keys', 'issue', '--from', '')).toEqual([':files']);
    expect(await complete('audit', '--action', 'keys.re')).toEqual([
      'keys.reindex',
      'keys.revoke',
      'keys.revoke-batch',
      'keys.revoke-batch.incomplete',
    ]);
    expect(await complete('')).not.toContain('__complete');
  });

  test('offers nothing that a shell would run, and sends no key to Redis', async () => {
    const { keyHash, key } = await kit.issue({ name: '\u{1B}[2Jx' });
    await kit.redis.hset(redisKeys.apiKeyIds, 'key_$(reboot)', keyHash);
    await kit.redis.sadd(redisKeys.planNames, 'bad;plan', '`x`');
    expect(await complete('keys', 'show', 'key_$')).toEqual([]);
    expect(await complete('keys', 'issue', '--plan', 'b')).toEqual(['business']);
    expect(await complete('keys', 'show', key)).toEqual([]);
    const { stdout } = await kit.run('__complete', '--', 'keys', 'show', '');
    expect(stdout).not.toContain('\u{1B}');
    await kit.redis.srem(redisKeys.planNames, 'bad;plan', '`x`');
  });

  test('prints nothing at all when Redis is unavailable, and still completes commands', async () => {
    for (const [words, printed] of [
      [['keys', 'show', 'key_'], ''],
      [['nope', '--x', 'y'], ''],
      [['keys', 'expo'], 'export\tall records as JSON lines, with hashes instead of keys\n'],
    ] as const) {
      const env = { REDIS_URL: 'redis://127.0.0.1:1' };
      // It ends its process.
      const result = await runProgram(['gateway/ops/main.ts', '__complete', '--', ...words], env);
      expect(result).toEqual({ code: 0, stdout: printed, stderr: '' });
    }
  });

  test('the script defines ops for any directory, with paths that may contain anything', async () => {
    const env = { DATA_DIR: `${directory.path}/a b'c"d$e` };
    const { stdout } = await runOps(['completion', 'bash'], env);
    const file = join(directory.path, 'quoted.bash');
    await writeFile(file, `alias ops=false\n${stdout}`);
    const child = spawn('bash', ['-c', `shopt -s expand_aliases; . ${file}; cd /; ops keys list`], {
      env: { PATH: process.env['PATH'], HOME: directory.path },
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    await new Promise((resolve) => {
      child.on('close', resolve);
    });
    expect(stderr).toContain(`no gateway is running with the data directory ${env.DATA_DIR}:`);
    expect(stdout).toContain(root);
  });
});
