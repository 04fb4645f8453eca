import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { findPostgres, startPostgresServer } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of an empty database, to be followed by names of more; undefined where PostgreSQL is missing. */
    postgresAdminUrl: string | undefined;
  }
}

/** One PostgreSQL for all files, since making one takes seconds. Files that kill theirs start their own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (findPostgres() === undefined) {
    console.warn('PostgreSQL is not installed: tests on it are skipped (Debian package postgresql)');
    project.provide('postgresAdminUrl', undefined);
    return async () => {};
  }
  const server = await startPostgresServer();
  project.provide('postgresAdminUrl', await server.createDatabase(`tests_${randomBytes(4).toString('hex')}`));
  return async () => {
    await server[Symbol.asyncDispose]();
  };
}
