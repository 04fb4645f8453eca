import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { canConnect } from '../http/can-connect.ts';
import { freePort } from '../http/free-port.ts';
import { temporaryDirectory } from '../kits/temporary-directory.ts';

export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).error === undefined;

export interface PgBouncer extends AsyncDisposable {
  /** @returns the URL of the same database through PgBouncer */
  through(databaseUrl: string): string;
}

/**
 * PgBouncer in transaction mode, as pets-service/README.md says.
 * @param databaseUrl of any database of the server behind it
 */
export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  const directory = await temporaryDirectory();
  const port = await freePort();
  const server = new URL(databaseUrl);
  const file = join(directory.path, 'pgbouncer.ini');
  const users = join(directory.path, 'users.txt');
  // It refuses to run as root, and must be able to read its files then.
  await chmod(directory.path, 0o755);
  await writeFile(users, `"${server.username}" ""\n`);
  await writeFile(
    file,
    `[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
ignore_startup_parameters = statement_timeout
`,
  );
  const asRoot = process.getuid?.() === 0;
  const child = spawn('pgbouncer', [...(asRoot ? ['-u', 'postgres'] : []), file], { stdio: 'ignore' });
  for (let attempt = 0; !(await canConnect(port)); attempt += 1) {
    if (attempt === 200 || child.exitCode !== null) throw new Error('pgbouncer does not start');
    await sleep(25);
  }
  return {
    through: (url) => Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      // SIGINT would wait for its clients.
      child.kill('SIGTERM');
      await exited;
      await directory[Symbol.asyncDispose]();
    },
  };
}
