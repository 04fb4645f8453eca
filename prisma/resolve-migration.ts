import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { withSchemaEngine } from './schema-engine.ts';

/** What an operator has found, or made, of a migration that failed. */
export type Resolution = 'applied' | 'rolled-back';

/**
 * Records what became of a failed migration, as `prisma migrate resolve` does: `applied` if all of its changes are in the
 * database, `rolled-back` if none is, so that it can run again. Changes nothing else.
 * @throws Error if the migration has not failed or, for `applied`, does not exist
 */
export function resolveMigration(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  migrationName: string,
  resolution: Resolution,
): Promise<void> {
  return withSchemaEngine(adapter, async (engine, migrationsList) => {
    if (resolution === 'applied') await engine.markMigrationApplied({ migrationName, migrationsList });
    else await engine.markMigrationRolledBack({ migrationName });
  });
}
