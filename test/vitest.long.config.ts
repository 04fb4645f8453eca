import { defineConfig } from 'vitest/config';
import { common, longTests, project } from './vitest.config.ts';

/** Tests that take minutes: npm run check:long. */
export default defineConfig({
  test: {
    ...common,
    globalSetup: ['support/suite.setup.ts'],
    projects: [project('long', { include: [longTests], exclude: ['**/node_modules/**'] })],
  },
});
