import { spawnSync } from 'node:child_process';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const name = 'fortnight';
const title = 'Fortnight';

/** What the code prints that it describes: how each file is made. */
const printed: Record<string, string> = {
  'gateway/admin/openapi.yaml': 'gateway/admin/describe-api.ts',
  'gateway/operations/plans-file.schema.json': 'gateway/operations/describe-plans-file.ts',
};

/** All that a further window needs: the edit of each file, or that it is printed again. */
const edits: Record<string, (text: string) => string> = {
  'gateway/limits/windows.ts': (text) =>
    text.replace(
      /^ {2}month: \{/m,
      `  ${name}: { lengthMs: 1_209_600_000, required: false, title: '${title}', each: 'a ${name}', current: 'this ${name}' },\n$&`,
    ),
  'gateway/openapi.yaml': addToDocument,
  'gateway/ops/REDIS.md': (text) =>
    text
      .replace('`hour` and `month`', `\`hour\`, \`${name}\` and \`month\``)
      .replace('`gw:hour:{<cus>}`', `$&, \`gw:${name}:{<cus>}\``),
  ...Object.fromEntries(Object.keys(printed).map((file) => [file, (text: string) => text])),
};

function addToDocument(text: string): string {
  return text
    .replace(
      /^ +(?:month|\w+Month): \{.*\n/gm,
      (line) =>
        `${line}${line.replace(/(\w*)month:/i, (_month, prefix: string) => `${prefix}${prefix === '' ? name : title}:`)}`,
    )
    .replaceAll(/(enum: \[[^\]]*)\bmonth\b/g, `$1month, ${name}`)
    .replaceAll('`hour`, `day`', `\`hour\`, \`${name}\`, \`day\``);
}

/** Takes minutes, since it runs the checks of a copy of the project. */
describe('a fifth window', { timeout: 400_000 }, () => {
  let copy: TemporaryDirectory;
  const path = (file: string) => join(copy.path, file);

  beforeAll(async () => {
    copy = await temporaryDirectory();
    for (const part of await readdir(root)) {
      if (['node_modules', '.git', '.data'].includes(part)) continue;
      const filter = (source: string) => !source.includes('node_modules');
      await cp(join(root, part), path(part), { recursive: true, filter });
    }
    await symlink(join(root, 'node_modules'), path('node_modules'));
    for (const file of Object.keys(edits)) await edit(file);
  });
  afterAll(() => copy[Symbol.asyncDispose]());

  async function edit(file: string): Promise<void> {
    const before = await readFile(path(file), 'utf8');
    await writeFile(path(file), edits[file]?.(before) ?? before);
    const program = printed[file];
    if (program !== undefined) await writeFile(path(file), run([program]).stdout);
  }

  function run(args: string[]) {
    const env = { ...process.env };
    for (const name of ['NODE_V8_COVERAGE', 'TEST_COVERAGE', 'TEST_RETRIED', 'TEST_FAILED_FILES'])
      delete env[name];
    return spawnSync(process.execPath, args, { cwd: copy.path, encoding: 'utf8', env });
  }
  const vitest = (...args: string[]) => run(['node_modules/vitest/vitest.mjs', 'run', ...args]);
  const unitTests = (...files: string[]) => vitest('--config', 'test/vitest.unit.config.ts', ...files);

  test('takes one definition, two documents and two printed files', () => {
    for (const project of ['.', 'gateway/docs/browser', 'gateway/admin/console/browser']) {
      const { status, stdout } = run(['node_modules/typescript/bin/tsc', '--noEmit', '--project', project]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    }
    const { status, stdout } = unitTests();
    expect(status, stdout).toBe(0);
  });

  test('is then in all that operators and clients see', { tags: ['chromium'] }, () => {
    const { status, stdout } = vitest(
      '--config',
      'test/vitest.slow.config.ts',
      'test/e2e/windows.slow.test.ts',
      '--testNamePattern',
      name,
    );
    expect(status, stdout).toBe(0);
    expect(stdout).toContain('1 passed');
  });

  test.each(Object.keys(edits).slice(1))('is missed if %s is left as it was', async (file) => {
    const edited = await readFile(path(file), 'utf8');
    await cp(join(root, file), path(file));
    const { status, stdout, stderr } = unitTests(
      'unit/documents',
      'unit/gateway/limits',
      'unit/gateway/operations/plans-file',
    );
    await writeFile(path(file), edited);
    expect(status).toBe(1);
    expect(stdout + stderr).toContain(name);
  });
});
