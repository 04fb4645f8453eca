import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { copyRelease, type ReleaseCopy } from '../support/kits/release-copy.ts';
import { runProgram } from '../support/kits/service.ts';
import { createDatabase } from '../support/stores/stores.ts';

/** The name that is the latest of all. */
const name = '20991231000000_add_note';
const addNote = 'ALTER TABLE "pets" ADD COLUMN "note" TEXT NOT NULL DEFAULT \'a;b\';\n';
const wayOut = `see prisma/README.md, then npm run migrate -- --resolve ${name} --rolled-back, or --applied`;

describe('migrations', { tags: ['postgresql'], timeout: 120_000 }, () => {
  let stack: AsyncDisposableStack;
  let release: ReleaseCopy;
  let url: string;
  let client: pg.Client;

  beforeEach(async () => {
    await using starting = new AsyncDisposableStack();
    release = starting.use(await copyRelease());
    url = await createDatabase();
    client = new pg.Client(url);
    await client.connect();
    starting.defer(() => client.end());
    stack = starting.move();
  });
  afterEach(() => stack.disposeAsync());

  const migrate = (...args: string[]) => release.migrate(url, ...args);
  /** Starts the pets service of the release, in which pets have a note, and which needs the migration. */
  async function startNewRelease() {
    await release.edit('prisma/schema.prisma', '@default(available)', '@default(available)\n  note String');
    release.generate();
    return release.start({ DATABASE_URL: url, DATA_DIR: release.directory, DEMO: 'false' });
  }
  /** @returns state and meaning of the last migration */
  async function state(): Promise<string> {
    const { stdout } = await migrate('--status');
    return stdout.trim().split('\n').at(-1)?.replace(name, '').trim() ?? '';
  }

  test('a failed one leaves nothing behind, the service says so, and it runs again once it is mended', async () => {
    await migrate();
    const failing = 'CREATE TABLE "notes" (id INT);\nINSERT INTO "pets" (category_id) VALUES (1);\n';
    await release.addMigration(name, failing);
    await using service = await startNewRelease();
    expect((await send(`${service.url}/readyz`)).json).toEqual({ status: 'starting', database: 'unusable' });
    await expect.poll(service.output).toContain('out of date; run npm run migrate"');

    const error =
      'ERROR: null value in column "name" of relation "pets" violates not-null constraint (SQLSTATE 23502)';
    const failed = { code: 1, stdout: '', stderr: `migrate: ${name} failed: ${error}; ${wayOut}\n` };
    expect(await migrate()).toEqual(failed);
    const { rows } = await client.query(`SELECT to_regclass('notes') AS notes`);
    expect(rows).toEqual([{ notes: null }]);
    // It stops what follows until somebody has decided.
    expect(await migrate()).toEqual(failed);
    expect(await state()).toBe(`failed   ${error}; ${wayOut}`);
    await expect
      .poll(service.output)
      .toContain(`database migration ${name} has not finished; run npm run migrate -- --status"`);

    expect(await migrate('--resolve', name, '--rolled-back')).toEqual({
      code: 0,
      stdout: `${name} is recorded as rolled back; npm run migrate runs it again\n`,
      stderr: '',
    });
    expect(await state()).toBe('pending  npm run migrate applies it');
    await release.edit(`prisma/migrations/${name}/migration.sql`, failing, addNote);
    expect(await migrate()).toEqual({ code: 0, stdout: `applied ${name}\n`, stderr: '' });
    await expect.poll(async () => (await send(`${service.url}/readyz`)).status).toBe(200);
    expect(await migrate('--status')).toMatchObject({ code: 0 });
  });

  test('one whose changes an operator has made by hand is recorded as applied', async () => {
    await release.addMigration(name, 'ALTER TABLE "nothing" ADD COLUMN "note" TEXT');
    expect(await migrate()).toMatchObject({ code: 1 });
    const error = 'ERROR: relation "nothing" does not exist (SQLSTATE 42P01)';
    expect(await state()).toBe(`failed   ${error}; ${wayOut}`);
    expect(await migrate('--resolve', name, '--applied')).toEqual({
      code: 0,
      stdout: `${name} is recorded as applied\n`,
      stderr: '',
    });
    expect(await state()).toBe('applied');
    expect(await migrate()).toEqual({ code: 0, stdout: 'no new migrations\n', stderr: '' });
  });

  test('one whose process is killed goes on in PostgreSQL, which the status tells, and can be ended there', async () => {
    await migrate();
    const slow = `${addNote}SELECT pg_sleep(600);\n`;
    await release.addMigration(name, slow);
    const child = spawn(process.execPath, ['prisma/migrate.ts'], {
      cwd: release.directory,
      env: { ...process.env, DATABASE_URL: url },
      stdio: 'ignore',
    });
    await expect.poll(state).toBe('running  another process applies it now');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await state()).toBe('running  another process applies it now');
    const ended = await client.query(
      // Only in this database: others are on the same server.
      `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
       WHERE locktype = 'advisory' AND objid = 72707369 AND datname = current_database()`,
    );
    expect(ended.rowCount).toBe(1);
    await expect.poll(state).toBe(`failed   its process ended early; ${wayOut}`);
    await migrate('--resolve', name, '--rolled-back');
    await release.edit(`prisma/migrations/${name}/migration.sql`, slow, addNote);
    expect(await migrate()).toEqual({ code: 0, stdout: `applied ${name}\n`, stderr: '' });
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

  test('migrations that were edited, and those of another release, are named', async () => {
    await release.addMigration(name, addNote);
    await migrate();
    expect((await runProgram(['prisma/migrate.ts', '--status'], { DATABASE_URL: url })).stdout).toContain(
      `${name}                 unknown  applied by another release; this one does not have it`,
    );
    await release.edit(`prisma/migrations/${name}/migration.sql`, 'TEXT', 'CHAR');
    expect(await state()).toBe('edited   its file has changed since it was applied');
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

test.each([
  [['now'], /^migrate: Unexpected argument 'now'\..+usage: npm run migrate/],
  [['--force'], /^migrate: Unknown option '--force'.+usage: npm run migrate/],
  [['--applied'], /^migrate: --applied and --rolled-back belong to --resolve; usage/],
  [['--resolve', 'x'], /^migrate: --resolve x needs either --applied or --rolled-back; usage/],
  [['--resolve', 'x', '--applied', '--rolled-back'], /^migrate: --resolve x needs either/],
  [['--resolve', 'x', '--applied', '--status'], /^migrate: --status and --resolve exclude each other; usage/],
])('invalid arguments are refused before anything is asked of the database: %j', async (args, message) => {
  const { code, stdout, stderr } = await runProgram(['prisma/migrate.ts', ...args], {
    DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none',
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('the prisma command says why it cannot run where its engine cannot be downloaded, and what can', async () => {
  const commands = [['status'], ['deploy'], ['resolve', '--applied', name]];
  const results = await Promise.all(
    commands.map((command) =>
      runProgram(
        ['node_modules/prisma/build/index.js', 'migrate', ...command, '--config', 'prisma/prisma.config.ts'],
        {
          DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none',
          PRISMA_ENGINES_MIRROR: 'http://127.0.0.1:9',
          // Without a cache of engines.
          HOME: '/nowhere',
        },
      ),
    ),
  );
  for (const { code, stderr } of results) {
    expect(code).toBe(1);
    expect(stderr).toContain('npm run migrate (--status, --resolve) needs none.');
    expect(stderr).toMatch(/Error: request to http:\/\/127\.0\.0\.1:9\S+ failed, reason: /);
  }
});
