import { defineConfig } from 'prisma/config';
import { readDatabaseUrl } from './database-url.ts';

/** Commands that run Prisma's native schema engine, which Prisma downloads when it is first needed. */
const needsEngine = process.argv.slice(2).some((word) => word === 'migrate' || word === 'db');

if (process.env['PRISMA_SCHEMA_ENGINE_BINARY'] === undefined) {
  if (needsEngine) {
    process.stderr.write(
      "This needs Prisma's schema engine, a download; npm run migrate (--status, --resolve) needs none.\n",
    );
  } else {
    // `prisma generate` downloads the engine, although it never runs it. Setting this to any executable prevents the
    // download, so that the command works offline.
    process.env['PRISMA_SCHEMA_ENGINE_BINARY'] = process.execPath;
  }
}

const databaseUrl = readDatabaseUrl(process.env);

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  ...(databaseUrl ? { datasource: { url: databaseUrl } } : {}),
});
