import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration, type ViteUserConfig } from 'vitest/config';
import { ClosingReporter } from './support/closing-reporter.ts';
import { requirements } from './support/requirements.ts';

const root = fileURLToPath(new URL('.', import.meta.url));

// Each file has a process of its own, which would strip the types of all sources again. It would make coverage imprecise.
if (process.env['NODE_V8_COVERAGE'] === undefined) {
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
    new URL('../node_modules/.cache/tests', import.meta.url),
  );
}

const shared: TestProjectInlineConfiguration['test'] = {
  root,
  setupFiles: ['support/pets-keys.setup.ts'],
  // Tests start real servers and mostly wait for them: two files at a time leave half of two cores idle.
  maxWorkers: 3,
  // Set in CI, where a machine that stalls for a moment must not fail the run. The last lines name what was retried.
  retry: Number(process.env['TEST_RETRY'] ?? 0),
  // A program of its own takes seconds to start on a machine that does other things.
  testTimeout: 120_000,
  hookTimeout: 60_000,
  // The list of retries has the message alone: "[ Array(1) ]" would not tell what was wrong.
  chaiConfig: { truncateThreshold: 0 },
  // A test without an expectation shows nothing.
  expect: { requireAssertions: true, poll: { timeout: 10_000, interval: 20 } },
  // Node runs the sources in tests as it does in the services: without a transformation.
  experimental: { viteModuleRunner: false, nodeLoader: false },
};

/** Files that take more than 10 seconds, by any number of short tests: npm run check:slow. */
export const slowTests = '**/*.slow.test.ts';
/** Tests that take minutes: npm run check:long. */
export const longTests = '**/*.long.test.ts';

interface Project {
  include: string[];
  exclude?: string[];
  /** Projects run in this order. */
  groupOrder?: number;
  isolate?: boolean;
}

export function project(
  name: string,
  { include, exclude = [], groupOrder = 0, isolate = true }: Project,
): TestProjectInlineConfiguration {
  return { test: { ...shared, name, include, exclude, isolate, sequence: { groupOrder } } };
}

/** No server, no store, and no process of their own: npm run test:unit. */
export const unit = project('unit', { include: ['unit/**/*.test.ts'], isolate: false });

/** Looks at what all others have left behind. */
export const afterwards = project('afterwards', { include: ['afterwards/**/*.test.ts'], groupOrder: 2 });

/** What all runs have in common. */
export const common: ViteUserConfig['test'] = {
  root,
  reporters: ['default', new ClosingReporter()],
  // Of a test with several tags, the last one that says whether to skip it decides.
  tags: requirements.map(({ name, description, skip }) =>
    skip ? { name, description, skip } : { name, description },
  ),
};

export default defineConfig({
  test: {
    ...common,
    globalSetup: ['support/suite.setup.ts'],
    projects: [
      unit,
      project('suite', {
        include: ['**/*.test.ts'],
        exclude: [slowTests, longTests, 'unit/**', 'afterwards/**', '**/node_modules/**'],
        groupOrder: 1,
      }),
      afterwards,
    ],
  },
});
