import pg from 'pg';
import { describe, test } from 'vitest';
import { copyRelease } from '../support/kits/release-copy.ts';
import { runProgram } from '../support/kits/service.ts';
import { createDatabase } from '../support/stores/stores.ts';

describe.concurrent('a migration that waits', { tags: ['postgresql'], timeout: 120_000 }, () => {
  test('for another one for ten seconds names it as the reason', async ({ expect }) => {
    const url = await createDatabase();
    const client = new pg.Client(url);
    await client.connect();
    await client.query('SELECT pg_advisory_lock(72707369)');
    expect(await runProgram(['prisma/migrate.ts'], { DATABASE_URL: url })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'migrate: another migration is running; see npm run migrate -- --status, and run this again when it has ended\n',
    });
    await client.end();
  });

  test('for the lock of a table fails after ten seconds, and can run again', async ({ expect }) => {
    const name = '20991231000000_add_note';
    const url = await createDatabase();
    await using release = await copyRelease();
    await release.migrate(url);
    await release.addMigration(name, 'ALTER TABLE "pets" ADD COLUMN "note" TEXT;\n');
    const client = new pg.Client(url);
    await client.connect();
    // As a backup of the table does.
    await client.query('BEGIN; LOCK TABLE pets IN ACCESS SHARE MODE');
    const { code, stderr } = await release.migrate(url);
    expect(code).toBe(1);
    expect(stderr).toContain('canceling statement due to lock timeout (SQLSTATE 55P03)');
    await client.query('ROLLBACK');
    await client.end();
    await release.migrate(url, '--resolve', name, '--rolled-back');
    expect(await release.migrate(url)).toMatchObject({ code: 0, stdout: `applied ${name}\n` });
  });
});
