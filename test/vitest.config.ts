import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('.', import.meta.url)),
    include: ['**/*.test.ts'],
    globalSetup: ['support/stores.setup.ts'],
    // Tests start real servers, and mostly wait for them: two files at a time, however many cores there are, lest
    // they starve each other.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A test without an expectation shows nothing.
    expect: { requireAssertions: true, poll: { timeout: 10_000, interval: 20 } },
  },
});
