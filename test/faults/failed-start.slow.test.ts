import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProgram, startPetsService } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/*
 * A service that cannot start reports the invalid setting in one line and leaves nothing behind. The tests may run as
 * root, so every case here fails for root too.
 */

type Name = 'gateway' | 'pets-service';

const freePorts = {
  GATEWAY_PORT: '0',
  GATEWAY_ADMIN_PORT: '0',
  PETS_SERVICE_PORT: '0',
  PETS_SERVICE_URL: 'http://127.0.0.1:9',
};

/** @returns the error line without the name of the service */
async function failedStart(
  name: Name,
  env: Record<string, string>,
  limits: Parameters<typeof runProgram>[2] = {},
): Promise<string> {
  const result = await runProgram([`${name}/server.ts`], { ...freePorts, ...env }, limits);
  expect(result.code, result.stderr).toBe(1);
  expect(result.stderr.startsWith(`${name}: `) && result.stderr.endsWith('\n'), result.stderr).toBe(true);
  const lines = result.stderr.slice(name.length + 2, -1).split('\n');
  expect(lines).toHaveLength(1);
  return lines.join('');
}

test.each([
  // Reserved for documentation (RFC 5737), so no machine has it.
  ['GATEWAY_HOST', '203.0.113.1', 'GATEWAY_HOST, GATEWAY_PORT'],
  ['GATEWAY_ADMIN_HOST', 'no such host', 'GATEWAY_ADMIN_HOST, GATEWAY_ADMIN_PORT'],
])('gateway: an invalid %s, %s, is reported, and nothing is written', async (setting, host, settings) => {
  await using directory = await temporaryDirectory();
  const DATA_DIR = join(directory.path, 'data');
  const line = await failedStart('gateway', { DATA_DIR, [setting]: host });
  expect(line).toContain(`${settings}: can't listen on ${host}:0 (`);
  expect(existsSync(DATA_DIR)).toBe(false);
});

test('the gateway leaves no partial key pair on a full disk', async () => {
  await using directory = await temporaryDirectory();
  const DATA_DIR = join(directory.path, 'data');
  const line = await failedStart('gateway', { DATA_DIR }, { fileBlocks: 0 });
  expect(line).toBe(`DATA_DIR: ${DATA_DIR} can't be used (EFBIG: file too large, write)`);
  expect(await readdir(DATA_DIR)).toEqual([]);
});

test.each<Name>(['gateway', 'pets-service'])(
  '%s: a DATA_DIR below a file is reported',
  { timeout: 120_000 },
  async (name) => {
    const DATA_DIR = 'package.json/a/b';
    expect((await failedStart(name, { DATA_DIR })).replace('ENOTDIR', 'EEXIST')).toContain(
      `DATA_DIR: ${resolve(DATA_DIR)} can't be used (EEXIST: `,
    );
  },
);

test(
  'a private Redis that does not start is reported with its log file, and its address is not written',
  { tags: ['redis-server'], timeout: 120_000 },
  async () => {
    await using directory = await temporaryDirectory();
    const redis = join(directory.path, 'redis');
    await mkdir(redis);
    await writeFile(join(redis, 'appendonlydir'), 'no directory');
    expect(await failedStart('gateway', { DATA_DIR: directory.path })).toBe(
      `DATA_DIR: the private Redis failed to start in ${redis}: see redis.log there`,
    );
    expect(existsSync(join(directory.path, 'redis.url'))).toBe(false);
  },
);

test.each([
  ['postgresql://user:hunter2@127.0.0.1:9/pets', "Can't reach database server at `127.0.0.1:9`"],
  ['postgresql://user:hunter2@127.0.0.1:9/pets?sslrootcert=/none', 'ENOENT: no such file or directory'],
])(
  'a DATABASE_URL that cannot be migrated is reported without its password: %s',
  async (DATABASE_URL, reason) => {
    await using directory = await temporaryDirectory();
    const line = await failedStart('pets-service', { DATA_DIR: directory.path, DATABASE_URL, DEMO: 'true' });
    expect(line).toContain(`DATABASE_URL: the database can't be prepared: ${reason}`);
    expect(line).not.toContain('hunter2');
  },
);

describe('an embedded database', () => {
  test('whose creation a full disk or a kill interrupts is created by the next start, and can be moved behind a link', async () => {
    await using directory = await temporaryDirectory();
    await using elsewhere = await temporaryDirectory();
    const env = { DATA_DIR: directory.path };
    const line = await failedStart('pets-service', env, { fileBlocks: 8 });
    expect(line).toMatch(new RegExp(`^DATA_DIR: ${directory.path} can't be used \\(.+\\)`));
    const [postgres, draft] = [join(directory.path, 'postgres'), join(directory.path, 'postgres.new')];
    await mkdir(draft, { recursive: true });
    await writeFile(join(draft, 'PG_VERSION'), '18\n');
    await using first = await startPetsService(env);
    await expect.poll(first.output).toContain('demo pets added');
    expect((await readdir(directory.path)).toSorted()).toEqual(['postgres', 'postgres.lock']);
    await first.stop();
    await rename(postgres, join(elsewhere.path, 'moved'));
    await symlink(join(elsewhere.path, 'moved'), postgres);
    // A start that was killed while another one had made the database.
    await mkdir(draft);
    await using second = await startPetsService(env);
    await second.stop();
    expect(second.output()).not.toMatch(/migrations applied|demo pets added/);
  });
});

test.each<[Name, string]>([
  ['gateway', 'INTERNAL_TOKEN_PRIVATE_KEY_FILE'],
  ['pets-service', 'INTERNAL_TOKEN_PUBLIC_KEY_FILES'],
])('%s: an invalid %s is reported, and nothing is written', async (name, setting) => {
  await using directory = await temporaryDirectory();
  const DATA_DIR = join(directory.path, 'data');
  const file = join(directory.path, 'none.pem');
  const line = await failedStart(name, { DATA_DIR, [setting]: file });
  expect(line).toMatch(new RegExp(`^${setting}: ${file} can't be .*ENOENT`));
  expect(existsSync(DATA_DIR)).toBe(false);
});
