import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
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

test.each([
  { count: 2, code: 0 },
  { count: 3, code: 1 },
])(
  '$count tests that need a retry are named with their first error; CI ends with $code',
  async ({ count, code }) => {
    await using directory = await temporaryDirectory();
    const path = (name: string) => join(directory.path, name);
    writeFileSync(path('flaky.test.js'), flaky(count));
    writeFileSync(
      path('vitest.config.mts'),
      `import { ClosingReporter } from ${JSON.stringify(reporter)};
     export default { test: { root: import.meta.dirname, globals: true, retry: 1, reporters: [new ClosingReporter()] } };`,
    );
    const env = {
      ...process.env,
      TEST_RETRIED: path('retried'),
      TEST_FAILED_SET_UPS: undefined,
      VITEST: undefined,
    };
    const vitest = [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--config',
      path('vitest.config.mts'),
    ];
    const run = spawnSync(process.execPath, vitest, { cwd: directory.path, env, encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([0, '']);
    const retried = Array.from(
      { length: count },
      (_, index) =>
        `retried 1x, passed: flaky.test.js > race ${index}\n  attempt 1: too early: expected 1 to be 2 // Object.is equality (line 6)\n`,
    ).join('');
    expect(readFileSync(path('retried'), 'utf8')).toBe(retried);
    expect(run.stdout).toContain(`${retried}skipped: no test\n`);
    const ci = spawnSync(join(root, '.ci/retries'), [path('retried')], { encoding: 'utf8' });
    expect([ci.status, ci.stdout]).toEqual([code, `retried tests: ${count} (at most 2 may be)\n${retried}`]);
  },
);

test('a file of which only a set-up failed is named to run once more', async () => {
  await using directory = await temporaryDirectory();
  const path = (name: string) => join(directory.path, name);
  writeFileSync(
    path('set-up.test.js'),
    `describe('s', () => {
       beforeAll(() => { throw new Error('not ready'); });
       test('t', () => { expect(1).toBe(1); });
     });`,
  );
  writeFileSync(
    path('vitest.config.mts'),
    `import { ClosingReporter } from ${JSON.stringify(reporter)};
     export default { test: { root: import.meta.dirname, globals: true, reporters: [new ClosingReporter()] } };`,
  );
  const env = {
    ...process.env,
    TEST_RETRIED: path('retried'),
    TEST_FAILED_SET_UPS: path('set-ups'),
    VITEST: undefined,
  };
  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', path('vitest.config.mts')];
  const run = () => spawnSync(process.execPath, vitest, { cwd: directory.path, env }).status;
  expect(run()).toBe(1);
  expect(readFileSync(path('set-ups'), 'utf8')).toBe('set-up.test.js\n');
  const retried = 'retried 1x: set-up of set-up.test.js\n  attempt 1: not ready\n';
  expect(readFileSync(path('retried'), 'utf8')).toBe(retried);
  // Not if a test failed, which has had its retry.
  writeFileSync(path('failing.test.js'), "test('t', () => { expect(1).toBe(2); });");
  expect(run()).toBe(1);
  expect([readFileSync(path('set-ups'), 'utf8'), readFileSync(path('retried'), 'utf8')]).toEqual([
    '',
    retried,
  ]);
});
