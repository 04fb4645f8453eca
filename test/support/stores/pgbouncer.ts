import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../http/free-port.ts';
import { temporaryDirectory } from '../kits/temporary-directory.ts';
import { together } from '../kits/together.ts';
import { end, untilListening } from '../programs.ts';

/**
 * PgBouncer in transaction mode, as pets-service/README.md says.
 * @param databaseUrl of any database of the server behind it
 */
export const startPgBouncer = (databaseUrl: string) =>
  together(async (stack) => {
    const { path } = stack.use(await temporaryDirectory());
    const port = await freePort();
    const { hostname, port: serverPort, username } = new URL(databaseUrl);
    const [file, users] = [join(path, 'pgbouncer.ini'), join(path, 'users.txt')];
    await writeFile(users, `"${username}" ""\n`);
    await writeFile(
      file,
      `[databases]
* = host=${hostname} port=${serverPort}
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
    // It refuses to run as root.
    const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
    const child = spawn('pgbouncer', [...user, file], { stdio: 'ignore' });
    // SIGINT would wait for its clients.
    stack.defer(() => end(child, 'SIGTERM'));
    await untilListening(child, port);
    return {
      /** @returns the URL of the same database through PgBouncer */
      through: (url: string) => Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    };
  });
