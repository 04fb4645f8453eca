import { defineConfig } from 'vitest/config';
import config, { longTests, project } from './vitest.config.ts';

/** Tests that take minutes: npm run check:long. */
export default defineConfig({
  test: { ...config.test, projects: [project('long', { include: [longTests] }, 0)] },
});
