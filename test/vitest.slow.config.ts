import { defineConfig } from 'vitest/config';
import { afterwards, common, project, slowTests } from './vitest.config.ts';

/** Files that take more than 10 seconds each: npm run check:slow. */
export default defineConfig({
  test: {
    ...common,
    globalSetup: ['support/suite.setup.ts'],
    projects: [project('slow', { include: [slowTests], exclude: ['**/node_modules/**'] }), afterwards],
  },
});
