import { appendFileSync, writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node';
import { requirements } from './requirements.ts';

/**
 * Ends the output of a run with the tests that were retried, each with the error of its failed attempts, and a line with
 * the number of skipped tests and what they are missing. Adds the retried ones to the file that TEST_RETRIED names. If CI runs
 * files in which something failed once more, adds these, too, and writes their paths into the file that TEST_FAILED_FILES
 * names, a line each.
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
    const retried = tests.map(describeRetries).join('');
    process.stdout.write(`${retried}${describeSkipped(tests)}\n`);
    const { TEST_RETRIED: retriedFile, TEST_FAILED_FILES: failedFile } = process.env;
    if (retriedFile !== undefined) appendFileSync(retriedFile, retried);
    if (failedFile === undefined) return;
    const failed = errors.length > 0 ? [] : failedFiles(modules);
    writeFileSync(failedFile, failed.map(({ file }) => `${file}\n`).join(''));
    if (retriedFile !== undefined) {
      const texts = failed.map(({ file, message }) => `retried 1x: ${file}\n  attempt 1: ${message}\n`);
      appendFileSync(retriedFile, texts.join(''));
    }
  }
}

/** Files in which something failed; none if a check of what the others have left behind did, which alone would show nothing. */
function failedFiles(modules: readonly TestModule[]): { file: string; message: string }[] {
  const failed = modules.filter((module) => module.state() === 'failed');
  if (failed.some(({ relativeModuleId }) => relativeModuleId.startsWith('afterwards/'))) return [];
  return failed.map((module) => {
    const ofSetUps = [module, ...module.children.allSuites()].flatMap((suite) => suite.errors());
    const ofTests = Array.from(module.children.allTests('failed'), (test) => test.result().errors ?? []);
    const [error] = [...ofSetUps, ...ofTests.flat()];
    return { file: module.relativeModuleId, message: firstLine(error?.message ?? '') };
  });
}

/** A list of large objects may be a long line. */
const maxLength = 3000;

const firstLine = (message: string) => message.split('\n', 1)[0]?.slice(0, maxLength) ?? '';

/** Empty for a test that was not retried. */
function describeRetries(test: TestCase): string {
  const retries = test.diagnostic()?.retryCount ?? 0;
  if (retries === 0) return '';
  const { state, errors = [] } = test.result();
  const attempts = errors.map(({ message, stacks = [] }, index) => {
    const at = stacks.findLast(({ file }) => file === test.module.moduleId);
    return `  attempt ${index + 1}: ${firstLine(message)}${at === undefined ? '' : ` (line ${at.line})`}`;
  });
  return [`retried ${retries}x, ${state}: ${nameOf(test)}`, ...attempts, ''].join('\n');
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
