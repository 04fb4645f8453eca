import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../http/free-port.ts';
import { temporaryDirectory } from '../kits/temporary-directory.ts';
import { end } from '../programs.ts';

const run = promisify(execFile);

/** Directory of the newest server programs, which Debian does not put on the PATH. */
export function findPostgres(): string | undefined {
  try {
    return readdirSync('/usr/lib/postgresql')
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => `/usr/lib/postgresql/${version}/bin`)
      .find((directory) => existsSync(join(directory, 'initdb')));
  } catch {
    return undefined;
  }
}

export type PostgresServer = Awaited<ReturnType<typeof startPostgresServer>>;

/** Starts a PostgreSQL server. It refuses to run as root, so root starts it as the user postgres. */
export async function startPostgresServer() {
  const programs = findPostgres();
  if (programs === undefined) throw new Error('PostgreSQL is not installed');
  const directory = await temporaryDirectory();
  const port = await freePort();
  const data = join(directory.path, 'data');
  const user = process.getuid?.() === 0 ? await lookUpUser('postgres') : undefined;
  if (user !== undefined) await chown(directory.path, user.uid, user.gid);
  const options = { ...user, cwd: directory.path };
  await run(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'test', '-A', 'trust', '--no-sync', '--encoding=UTF8', '--no-locale'],
    options,
  );
  let child: ChildProcess;

  async function query(sql: string): Promise<void> {
    const options = `-h 127.0.0.1 -p ${port} -U test`.split(' ');
    await run(join(programs ?? '', 'psql'), [...options, '-c', sql, 'postgres']);
  }

  /** Each connection has its own process. The parent is signalled first, so that it forks no others. */
  async function signalAll(signal: NodeJS.Signals): Promise<void> {
    const parent = child.pid;
    const { stdout } = await run('pgrep', ['-P', String(parent)]).catch(() => ({ stdout: '' }));
    child.kill(signal);
    for (const pid of stdout.split('\n').filter((line) => line !== '')) {
      try {
        process.kill(Number(pid), signal);
      } catch {
        // It has exited by itself.
      }
    }
  }

  async function launch(): Promise<void> {
    const settings = ['-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${directory.path}`];
    child = spawn(join(programs ?? '', 'postgres'), ['-D', data, '-p', String(port), ...settings], {
      ...options,
      stdio: 'ignore',
    });
    for (let attempt = 0; ; attempt += 1) {
      try {
        await query('SELECT 1');
        return;
      } catch (error) {
        if (attempt === 100) throw error;
        await sleep(100);
      }
    }
  }

  await launch();
  return {
    /** Creates an empty database and returns its URL. */
    async createDatabase(name: string) {
      await query(`CREATE DATABASE ${name}`);
      return `postgresql://test@127.0.0.1:${port}/${name}`;
    },
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    /** Sends SIGSTOP to all processes: connections are accepted, but get no response. */
    async pause() {
      // Twice, because the first may have missed a process that was being forked.
      await signalAll('SIGSTOP');
      await signalAll('SIGSTOP');
    },
    resume: () => signalAll('SIGCONT'),
    /** Sends SIGKILL to all processes, like a crash. */
    async kill() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      await signalAll('SIGKILL');
      await exited;
    },
    restart: launch,
    async [Symbol.asyncDispose]() {
      // SIGQUIT is an immediate shutdown without a checkpoint.
      await end(child, 'SIGQUIT');
      await directory[Symbol.asyncDispose]();
    },
  };
}

async function lookUpUser(name: string): Promise<{ uid: number; gid: number }> {
  const [{ stdout: uid }, { stdout: gid }] = await Promise.all([
    run('id', ['-u', name]),
    run('id', ['-g', name]),
  ]);
  return { uid: Number(uid), gid: Number(gid) };
}
