import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const root = fileURLToPath(new URL('.', import.meta.url));

const shared = {
  root,
  // Tests start real servers, and mostly wait for them: two files at a time, however many cores there are, lest
  // they starve each other.
  maxWorkers: 2,
  // Set where a run decides on something (.ci/run): there a machine that stands still for a moment must not fail a
  // test for good. What needed a second try is in the report.
  retry: Number(process.env['TEST_RETRY'] ?? 0),
  testTimeout: 30_000,
  hookTimeout: 60_000,
  // A test without an expectation shows nothing.
  expect: { requireAssertions: true, poll: { timeout: 10_000, interval: 20 } },
};

/** What takes minutes: npm run check:long. */
export const longTests = '**/*.long.test.ts';

export function project(
  name: string,
  { include, exclude = [] }: { include: string[]; exclude?: string[] },
  groupOrder: number,
): TestProjectInlineConfiguration {
  return { test: { ...shared, name, include, exclude, sequence: { groupOrder } } };
}

export default defineConfig({
  test: {
    root,
    globalSetup: ['support/suite.setup.ts'],
    projects: [
      project('suite', { include: ['**/*.test.ts'], exclude: [longTests, 'afterwards/**'] }, 0),
      // Looks at what all others have left behind.
      project('afterwards', { include: ['afterwards/**/*.test.ts'] }, 1),
    ],
  },
});
