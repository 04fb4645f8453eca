import { defineConfig } from 'vitest/config';
import config, { project } from './vitest.config.ts';

/** Tests that take minutes: npm run check:long. */
export default defineConfig({
  test: { ...config.test, projects: [project('long', ['long/**/*.test.ts'], 0)] },
});
