import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { temporaryDirectory } from './kits/temporary-directory.ts';
import { findPostgres, startPostgresServer } from './stores/postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a database from which others are created; undefined if PostgreSQL is not installed. */
    postgresAdminUrl: string | undefined;
    /** Directory for everything that services write (evidence.ts). */
    evidenceDirectory: string;
  }
}

/** Starts one PostgreSQL for all files, because a start takes seconds. Files that kill it start their own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using stack = new AsyncDisposableStack();
  const evidence = stack.use(await temporaryDirectory());
  project.provide('evidenceDirectory', evidence.path);
  if (findPostgres() === undefined) {
    console.warn('PostgreSQL is not installed: tests on it are skipped (Debian package postgresql)');
    project.provide('postgresAdminUrl', undefined);
  } else {
    const server = stack.use(await startPostgresServer());
    project.provide(
      'postgresAdminUrl',
      await server.createDatabase(`tests_${randomBytes(4).toString('hex')}`),
    );
  }
  const shared = stack.move();
  return () => shared.disposeAsync();
}
