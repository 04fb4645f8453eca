import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { withSchemaEngine } from './schema-engine.ts';

/**
 * Applies pending migrations as `prisma migrate deploy` does, and records them in the same table, but with the engine's
 * WebAssembly build: nothing is downloaded, and it works for the embedded database, too.
 * @returns names of the applied migrations
 * @throws Error of the engine, the database or the adapter
 */
export function migrate(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<string[]> {
  return withSchemaEngine(adapter, async (engine, migrationsList) => {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList,
      filters: { externalTables: [], externalEnums: [] },
    });
    return appliedMigrationNames;
  });
}
