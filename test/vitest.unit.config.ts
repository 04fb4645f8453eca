import { defineConfig } from 'vitest/config';
import { common, unit } from './vitest.config.ts';

/** Unit tests alone: npm run test:unit. */
export default defineConfig({ test: { ...common, projects: [unit] } });
