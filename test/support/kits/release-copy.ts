import { spawnSync } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram, startPetsService } from './service.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** A copy of the pets service and its migrations that a test can change: another release of the same software. */
export async function copyRelease() {
  const directory = await temporaryDirectory();
  const path = (file: string) => join(directory.path, file);
  for (const part of ['prisma', 'pets-service', 'package.json']) {
    await cp(join(root, part), path(part), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), path('node_modules'));
  return {
    directory: directory.path,
    async addMigration(name: string, sql: string) {
      await mkdir(path(`prisma/migrations/${name}`));
      await writeFile(path(`prisma/migrations/${name}/migration.sql`), sql);
    },
    /** Replaces text in a source, which has to be there. */
    async edit(file: string, text: string, replacement: string) {
      const before = await readFile(path(file), 'utf8');
      if (!before.includes(text)) throw new Error(`${file} does not contain ${text}`);
      await writeFile(path(file), before.replaceAll(text, replacement));
    },
    /** Generates the client of Prisma from the copy's schema. */
    generate() {
      const prisma = path('node_modules/prisma/build/index.js');
      const args = [prisma, 'generate', '--config', 'prisma/prisma.config.ts'];
      const { status, stderr } = spawnSync(process.execPath, args, { cwd: directory.path, encoding: 'utf8' });
      if (status !== 0) throw new Error(`prisma generate failed: ${stderr}`);
    },
    migrate: (databaseUrl: string, ...args: string[]) =>
      runProgram(
        ['prisma/migrate.ts', ...args],
        { DATABASE_URL: databaseUrl },
        { directory: directory.path },
      ),
    start: (env: Record<string, string>) => startPetsService(env, { directory: directory.path }),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}
