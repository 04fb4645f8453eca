import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { copyRelease } from '../support/kits/release-copy.ts';
import { runProgram } from '../support/kits/service.ts';
import { fresh } from '../support/kits/shared.ts';
import { together } from '../support/kits/together.ts';
import { createDatabase } from '../support/stores/stores.ts';

/** The name that is the latest of all. */
const name = '20991231000000_add_note';
const addNote = 'ALTER TABLE "pets" ADD COLUMN "note" TEXT NOT NULL DEFAULT \'a;b\';\n';

describe('migrations', { tags: ['postgresql'], timeout: 120_000 }, () => {
  const kit = fresh(() =>
    together(async (stack) => {
      const release = stack.use(await copyRelease());
      const url = await createDatabase();
      const client = new pg.Client(url);
      await client.connect();
      stack.defer(() => client.end());
      return { release, url, client };
    }),
  );

  const migrate = (...args: string[]) => kit.release.migrate(kit.url, ...args);
  /** Starts the pets service of the release, in which pets have a note, and which needs the migration. */
  async function startNewRelease() {
    await kit.release.edit(
      'prisma/schema.prisma',
      '@default(available)',
      '@default(available)\n  note String',
    );
    kit.release.generate();
    return kit.release.start({ DATABASE_URL: kit.url, DATA_DIR: kit.release.directory, DEMO: 'false' });
  }
  /** As pets-service/README.md says. */
  const resolve = (change: string) =>
    kit.client.query(
      `UPDATE _prisma_migrations SET ${change} WHERE migration_name = $1 AND finished_at IS NULL`,
      [name],
    );

  test('a failed one leaves nothing behind, the service says so, and it runs again once it is mended', async () => {
    await migrate();
    const failing = 'CREATE TABLE "notes" (id INT);\nINSERT INTO "pets" (category_id) VALUES (1);\n';
    await kit.release.addMigration(name, failing);
    await using service = await startNewRelease();
    expect((await send(`${service.url}/readyz`)).json).toEqual({
      status: 'starting',
      database: 'unavailable',
    });
    await expect.poll(service.output).toContain('out of date; run npm run migrate"');

    const error =
      'ERROR: null value in column "name" of relation "pets" violates not-null constraint (SQLSTATE 23502)';
    expect(await migrate()).toEqual({
      code: 1,
      stdout: '',
      stderr: `migrate: ${name} failed: ${error}; see pets-service/README.md\n`,
    });
    const { rows } = await kit.client.query(`SELECT to_regclass('notes') AS notes`);
    expect(rows).toEqual([{ notes: null }]);
    // It stops what follows until somebody has decided.
    const stopped = await migrate();
    expect(stopped).toMatchObject({ code: 1, stdout: '' });
    expect(stopped.stderr).toMatch(
      new RegExp(`found failed migrations .+ The \`${name}\` migration started at .+ failed`),
    );

    await resolve('rolled_back_at = now()');
    await kit.release.edit(`prisma/migrations/${name}/migration.sql`, failing, addNote);
    expect(await migrate()).toEqual({ code: 0, stdout: `applied ${name}\n`, stderr: '' });
    await expect.poll(async () => (await send(`${service.url}/readyz`)).status).toBe(200);
  });

  test('one whose changes an operator has made by hand is recorded as applied', async () => {
    await kit.release.addMigration(name, 'ALTER TABLE "nothing" ADD COLUMN "note" TEXT');
    const error = 'ERROR: relation "nothing" does not exist (SQLSTATE 42P01)';
    expect((await migrate()).stderr).toContain(`${name} failed: ${error}`);
    await resolve('finished_at = now()');
    expect(await migrate()).toEqual({ code: 0, stdout: 'no new migrations\n', stderr: '' });
  });

  test('one that waits for the lock of a table for ten seconds fails, and can run again', async () => {
    await migrate();
    await kit.release.addMigration(name, addNote);
    // As a backup of the table does.
    await kit.client.query('BEGIN; LOCK TABLE pets IN ACCESS SHARE MODE');
    const { code, stderr } = await migrate();
    expect(code).toBe(1);
    expect(stderr).toContain('canceling statement due to lock timeout (SQLSTATE 55P03)');
    await kit.client.query('ROLLBACK');
    await resolve('rolled_back_at = now()');
    expect(await migrate()).toMatchObject({ code: 0, stdout: `applied ${name}\n` });
  });

  test('two at once: one applies them, the other waits for it', async () => {
    const results = await Promise.all([migrate(), migrate(), migrate()]);
    expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      Array.from({ length: 3 }, () => ({ code: 0, stderr: '' })),
    );
    const outputs = results.map(({ stdout }) => stdout).toSorted();
    expect(outputs[0]).toMatch(/^applied /);
    expect(outputs.slice(1)).toEqual(['no new migrations\n', 'no new migrations\n']);
  });
});

test('one that fails in the embedded database is named with its error, and the service does not start', async () => {
  await using release = await copyRelease();
  await release.addMigration(
    name,
    'CREATE TABLE "notes" (id INT);\nALTER TABLE "nothing" ADD COLUMN "note" TEXT;\n',
  );
  await expect(release.start({ DATA_DIR: join(release.directory, '.data') })).rejects.toThrow(
    `DATA_DIR: the database can't be prepared: relation "nothing" does not exist`,
  );
});

test('an argument is refused before anything is asked of the database', async () => {
  const { code, stdout, stderr } = await runProgram(['prisma/migrate.ts', '--status'], {
    DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none',
  });
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: '',
    stderr: 'migrate: unexpected argument --status: npm run migrate takes none\n',
  });
});
