import pg from 'pg';
import { expect, test } from 'vitest';
import { runProgram } from '../support/kits/service.ts';
import { createDatabase } from '../support/stores/stores.ts';

test(
  'a migration that waits for another one for ten seconds names it as the reason',
  { tags: ['postgresql'], timeout: 60_000 },
  async () => {
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
  },
);
