import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { backupCommands, commandsOf } from '../support/checks/runbook-commands.ts';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { servePets, serviceToken } from '../support/kits/pets-kit.ts';
import { runOps, runProgram, startGateway, startPetsService } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startPostgresServer } from '../support/stores/postgres-server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const node = `'${process.execPath}' --disable-warning=ExperimentalWarning`;

/** The commands of OPERATE.md, or of REDIS.md: those of the backup, and those of the restore. */
function documentedCommands(section: string): [backup: string, restore: string] {
  const { copy, restoreCopy } = backupCommands();
  const [backup = '', restore = ''] =
    section === 'Redis' ? [copy, restoreCopy] : commandsOf('OPERATE.md', section);
  expect([backup, restore]).not.toContain('');
  return [backup, restore];
}

/** Runs documented commands as they are. */
async function run(commands: string, cwd: string, env: Record<string, string> = {}): Promise<string> {
  const script = `set -e
    npm() { ${node} '${root}/prisma/migrate.ts'; }
    ${commands}`;
  const { PATH } = process.env;
  return (await promisify(execFile)('sh', ['-c', script], { cwd, env: { PATH, ...env } })).stdout;
}

describe('the operating manual', { timeout: 120_000 }, () => {
  test('backs PostgreSQL up and restores it', { tags: ['postgresql'] }, async () => {
    const [backup, restore] = documentedCommands('PostgreSQL');
    await using server = await startPostgresServer();
    await using directory = await temporaryDirectory();
    const adminUrl = await server.createDatabase('administration');
    const owned = (name: string) =>
      Object.assign(new URL(adminUrl), { username: 'pets_owner', pathname: `/${name}` }).href;
    const admin = new pg.Client(adminUrl);
    await admin.connect();
    await admin.query('CREATE ROLE pets_owner LOGIN');
    await admin.query('CREATE ROLE pets LOGIN');
    await admin.query('CREATE DATABASE pets OWNER pets_owner');
    await admin.end();
    const env = {
      DATABASE_URL: owned('pets'),
      RESTORED_URL: owned('pets_restored'),
      SUPERUSER_URL: adminUrl,
    };
    expect(await runProgram(['prisma/migrate.ts'], env)).toMatchObject({ code: 0 });

    const token = serviceToken('manual');
    const idempotent = { 'idempotency-key': '"before"' };
    const body = '{"name":"Before","categoryId":9007199254740993}';
    let created: unknown;
    {
      await using pets = await servePets(new PrismaPg({ connectionString: env.DATABASE_URL }));
      created = (await postJson(`${pets.url}/v1/pets`, token, body, idempotent)).text;
      await run(backup, directory.path, env);
      expect((await postJson(`${pets.url}/v1/pets`, token, { name: 'Later', categoryId: 1 })).status).toBe(
        201,
      );
    }
    expect(await run(restore, directory.path, env)).toMatch(/^no new migrations$/m);

    await using restored = await servePets(new PrismaPg({ connectionString: env.RESTORED_URL }));
    expect((await send(`${restored.url}/v1/pets`, { key: token })).text).toBe(`[${String(created)}]`);
    const replayed = await postJson(`${restored.url}/v1/pets`, token, body, idempotent);
    expect([replayed.header('Idempotency-Replayed'), replayed.text]).toEqual(['true', created]);
    const next = await postJson(`${restored.url}/v1/pets`, token, { name: 'Next', categoryId: 1 });
    expect(next.status).toBe(201);
    expect((next.json as { id: number }).id).toBeGreaterThan(1);
  });

  test('backs Redis up and restores it', { tags: ['redis-server'] }, async () => {
    const [backup, restore] = documentedCommands('Redis');
    await using kit = await startOpsKit();
    await using directory = await temporaryDirectory();
    const data = join(directory.path, 'data');
    await mkdir(data);
    const port = String(await freePort());
    const env = { REDIS_URL: kit.server.url, REDIS_DIR: data, REDIS_PORT: port };
    const { key } = await kit.issue({ plan: 'pro' });
    expect((await kit.pets(key)).header('X-RateLimit-Remaining')).toBe('299');
    await run(backup, directory.path, env);
    const later = await kit.issue({ plan: 'pro' });

    await run(restore, directory.path, env);
    const url = `redis://127.0.0.1:${port}`;
    const stop = async () => {
      const connection = await connectRedis(url);
      await connection.shutdown('NOSAVE').catch(() => {});
      connection.disconnect();
    };
    const expectRestored = async () => {
      await using gateway = await startGateway({ REDIS_URL: url, PETS_SERVICE_URL: kit.upstream.url });
      expect((await send(`${gateway.url}/v1/pets`, { key })).status).toBe(200);
      const unknown = await send(`${gateway.url}/v1/pets`, { key: later.key });
      expect(unknown.json).toMatchObject({ code: 'unknown_api_key' });
    };
    try {
      await expectRestored();
      const connection = await connectRedis(url);
      await expect.poll(() => connection.info('persistence')).toMatch(/aof_rewrite_in_progress:0\r/);
      connection.disconnect();
    } finally {
      await stop();
    }
    // As always: from the append-only file.
    await run(`redis-server --port ${port} --dir '${data}' --appendonly yes --daemonize yes`, directory.path);
    try {
      await expectRestored();
    } finally {
      await stop();
    }
  });

  test('backs embedded stores up and restores them', { tags: ['redis-server'] }, async () => {
    const [backup, restore] = documentedCommands('Embedded stores');
    await using directory = await temporaryDirectory();
    const env = { DATA_DIR: join(directory.path, '.data') };
    let key = '';
    const name = 'Kept';
    {
      await using pets = await startPetsService(env);
      await using gateway = await startGateway({ ...env, PETS_SERVICE_URL: pets.url });
      const issue = ['keys', 'issue', '--plan', 'free', '--name', 'me', '--json'];
      const { stdout } = await runOps(issue, env);
      ({ key } = JSON.parse(stdout) as { key: string });
      expect((await postJson(`${gateway.url}/v1/pets`, key, { name, categoryId: 1 })).status).toBe(201);
    }
    await run(backup, directory.path);
    await run(restore, directory.path);
    await using pets = await startPetsService(env);
    await using gateway = await startGateway({ ...env, PETS_SERVICE_URL: pets.url });
    const listed = await send(`${gateway.url}/v1/pets?limit=100`, { key });
    expect(listed.json).toContainEqual(expect.objectContaining({ name }));
    expect(listed.header('X-RateLimit-Remaining')).toBe('58');
  });
});
