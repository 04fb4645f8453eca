import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const reporter = join(root, 'test/support/closing-reporter.ts');

/** A file of tests, some of which fail at their first attempt. */
const flaky = (count: number) => `
  for (let index = 0; index < ${count}; index += 1) {
    let attempts = 0;
    test('race ' + index, () => {
      attempts += 1;
      expect(attempts, 'too early').toBe(2);
    });
  }
  test('steady', () => {
    expect(1).toBe(1);
  });`;

/** A folder with a configuration of Vitest that uses the reporter. */
async function startProject(options: string) {
  const directory = await temporaryDirectory();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const path = (name: string) => join(directory.path, name);
  writeFileSync(
    path('vitest.config.mts'),
    `import { ClosingReporter } from ${JSON.stringify(reporter)};
     export default { test: { root: import.meta.dirname, globals: true, ${options} reporters: [new ClosingReporter()] } };`,
  );
  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', path('vitest.config.mts')];
  return {
    path,
    read: (name: string) => readFileSync(path(name), 'utf8'),
    run(tests: string, failedFiles?: string) {
      writeFileSync(path('flaky.test.js'), tests);
      const env = {
        ...process.env,
        TEST_RETRIED: path('retried'),
        TEST_FAILED_FILES: failedFiles,
        VITEST: undefined,
      };
      return spawnSync(process.execPath, vitest, { cwd: directory.path, env, encoding: 'utf8' });
    },
  };
}

test.each([
  { count: 2, code: 0 },
  { count: 3, code: 1 },
])(
  '$count tests that need a retry are named with their first error; CI ends with $code',
  async ({ count, code }) => {
    const { path, read, run } = await startProject('retry: 1,');
    const { status, stdout, stderr } = run(flaky(count));
    expect([status, stderr]).toEqual([0, '']);
    const retried = Array.from(
      { length: count },
      (_, index) =>
        `retried 1x, passed: flaky.test.js > race ${index}\n  attempt 1: too early: expected 1 to be 2 // Object.is equality (line 6)\n`,
    ).join('');
    expect(read('retried')).toBe(retried);
    expect(stdout).toContain(`${retried}skipped: no test\n`);
    const ci = spawnSync(join(root, '.ci/retries'), [path('retried')], { encoding: 'utf8' });
    expect([ci.status, ci.stdout]).toEqual([code, `retried tests: ${count} (at most 2 may be)\n${retried}`]);
  },
);
