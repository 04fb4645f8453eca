import type { TestProject } from 'vitest/node';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/** suite.setup.ts without PostgreSQL, which takes seconds to start. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const evidence = await temporaryDirectory();
  project.provide('evidenceDirectory', evidence.path);
  project.provide('postgresAdminUrl', undefined);
  return async () => evidence[Symbol.asyncDispose]();
}
