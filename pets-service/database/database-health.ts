import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { isSchemaError } from './database-error.ts';

/** unusable: the database responds, but lacks something, for example because its migrations are not applied. */
type DatabaseState = 'ok' | 'unavailable' | 'unusable';

/** What the health is found by. */
interface Probes {
  ping(): PromiseLike<unknown>;
  /** @returns what the database lacks for this service */
  findLacking(): Promise<string>;
}

export type DatabaseHealth = ReturnType<typeof createDatabaseHealth>;

/** Checks whether the database responds, and at first whether it has the schema. Logs each change. */
export function createDatabaseHealth({ store, log }: { store: Probes; log: Logger }) {
  let everHealthy = false;
  /** What was logged; empty while the database is ok. */
  let problem = '';

  function report(found: string, cause?: unknown): void {
    if (problem === found) return;
    problem = found;
    if (found === '') log.warn('database is available again');
    else log.error({ err: cause }, found);
  }

  async function ask(): Promise<DatabaseState> {
    try {
      if (everHealthy) await store.ping();
      const lacking = everHealthy ? '' : await store.findLacking();
      if (lacking !== '') {
        report(`the role of the database lacks ${lacking}`);
        return 'unusable';
      }
      report('');
      everHealthy = true;
      return 'ok';
    } catch (error) {
      const isUnusable = isSchemaError(error);
      const outdated = 'database schema is missing or out of date; run npm run migrate';
      report(isUnusable ? outdated : 'database is unavailable', error);
      return isUnusable ? 'unusable' : 'unavailable';
    }
  }

  return {
    /** Whether the state has been ok once. */
    everHealthy: () => everHealthy,
    /** Never rejects. @returns `unavailable` if the state is not known in time */
    check: (timeoutMs: number): Promise<DatabaseState> =>
      Promise.race([ask(), sleep(timeoutMs, 'unavailable' as const, { ref: false })]),
  };
}

/** @returns missing privileges @throws the error of Prisma if a table or a column is missing */
export async function findLacking(prisma: PrismaClient): Promise<string> {
  // Model calls select all columns. No row can match.
  await prisma.pet.findFirst({ where: { id: 0n } });
  await prisma.idempotencyKey.findFirst({ where: { issuer: '' } });
  const rows = await prisma.$queryRaw<{ lacking: string }[]>`
    SELECT privilege || ' on ' || relation AS lacking FROM (VALUES
      ('pets', 'SELECT'), ('pets', 'INSERT'), ('idempotency_keys', 'SELECT'), ('idempotency_keys', 'INSERT'),
      ('idempotency_keys', 'UPDATE'), ('idempotency_keys', 'DELETE')) AS needed (relation, privilege)
    WHERE NOT has_table_privilege(relation, privilege)
    UNION ALL SELECT 'USAGE on pets_id_seq' WHERE NOT has_sequence_privilege('pets_id_seq', 'USAGE')`;
  return rows.map(({ lacking }) => lacking).join(', ');
}
