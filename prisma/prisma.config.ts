import { defineConfig } from 'prisma/config';

// `prisma generate` looks for the native schema engine and tries to download it, although it never
// runs it. Naming any existing executable stops the look-up, so generating works offline.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

const databaseUrl = process.env['DATABASE_URL'];

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  ...(databaseUrl ? { datasource: { url: databaseUrl } } : {}),
});
