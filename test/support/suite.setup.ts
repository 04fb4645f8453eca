import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { temporaryDirectory } from './kits/temporary-directory.ts';
import { findPostgres, startPostgresServer } from './stores/postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of an empty database, to be followed by names of more; undefined where PostgreSQL is missing. */
    postgresAdminUrl: string | undefined;
    /** Where everything that services write is kept until the end (evidence.ts). */
    evidenceDirectory: string;
  }
}

/** What all files share. One PostgreSQL, since making one takes seconds; files that kill theirs start their own. */
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
