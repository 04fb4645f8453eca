import { defineConfig } from 'prisma/config';
import { readDatabaseUrl } from './database-url.ts';

// `prisma generate` downloads the schema engine, although it never runs it. Setting this to any executable prevents the
// download, so that the command works offline. `prisma migrate` and `prisma db` do need the engine.
const needsEngine = process.argv.slice(2).some((word) => word === 'migrate' || word === 'db');
if (!needsEngine) process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

const databaseUrl = readDatabaseUrl(process.env);

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  ...(databaseUrl ? { datasource: { url: databaseUrl } } : {}),
});
