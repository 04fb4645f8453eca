import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node';
import { requirements } from './requirements.ts';

/**
 * Ends the output of a run with a line for each retried test, and a line with the number of skipped tests and what they
 * are missing. Writes the paths of the test files that failed into the file that TEST_FAILED_FILES names, a line each.
 */
export class ClosingReporter implements Reporter {
  #namePattern: RegExp | undefined;

  onInit({ config }: Vitest): void {
    this.#namePattern = config.testNamePattern;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const pattern = this.#namePattern ?? /(?:)/;
    const allTests = modules.flatMap((module) => [...module.children.allTests()]);
    // Not those that `-t` leaves out.
    const tests = allTests.filter(({ fullName }) => pattern.test(fullName.replaceAll(' > ', ' ')));
    for (const test of tests) {
      const retries = test.diagnostic()?.retryCount ?? 0;
      if (retries > 0) process.stdout.write(`retried ${retries}x, ${test.result().state}: ${nameOf(test)}\n`);
    }
    process.stdout.write(`${describeSkipped(tests)}\n`);
    const path = process.env['TEST_FAILED_FILES'];
    if (path !== undefined) writeFileSync(path, errors.length > 0 ? '' : failedFiles(modules));
  }
}

/** Nothing if a check of what the others left behind failed, which a second run of that check alone would not show. */
function failedFiles(modules: readonly TestModule[]): string {
  const failed = modules
    .filter((module) => module.state() === 'failed')
    .map(({ relativeModuleId }) => relativeModuleId);
  return failed.some((file) => file.startsWith('afterwards/'))
    ? ''
    : failed.map((file) => `${file}\n`).join('');
}

function describeSkipped(tests: readonly TestCase[]): string {
  const skipped = tests.filter((test) => test.result().state === 'skipped');
  if (skipped.length === 0) return 'skipped: no test';
  const counts = new Map<string, number>();
  for (const test of skipped) {
    for (const reason of reasonsOf(test)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const reasons = [...counts].map(([reason, count]) => `${count} for want of ${reason}`);
  return `skipped: ${skipped.length} ${skipped.length === 1 ? 'test' : 'tests'} (${reasons.join('; ')})`;
}

function reasonsOf(test: TestCase): string[] {
  const missing = requirements.filter(({ name, skip }) => skip && test.tags.includes(name));
  if (missing.length > 0) return missing.map(({ description }) => description);
  const result = test.result();
  if (result.state === 'skipped' && result.note !== undefined) return [result.note];
  return [`${hasFailedSetUp(test.parent) ? 'a set-up that succeeds' : 'a reason'}: ${nameOf(test)}`];
}

/** Whether a hook of a suite that the test belongs to has failed. */
function hasFailedSetUp(suite: TestCase['parent']): boolean {
  return suite.errors().length > 0 || (suite.type === 'suite' && hasFailedSetUp(suite.parent));
}

const nameOf = (test: TestCase) => `${test.module.relativeModuleId} > ${test.fullName}`;
