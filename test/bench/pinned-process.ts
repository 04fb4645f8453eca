import { spawn, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { canConnect } from '../support/http/can-connect.ts';
import { cpuSecondsOf } from './cpu-time.ts';

/** The contender has a core of its own. Load generator, Redis and upstream share the other one. */
export const cores = { contender: 0, support: 1 } as const;

export interface PinnedProcess {
  pid: number;
  /** End of stdout and stderr. */
  lastOutput(): Promise<string>;
  /** CPU time so far, including descendants. */
  cpuSeconds(): Promise<number>;
  /** Suspends the process and its descendants. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

interface PinnedOptions {
  /** Number of a core, or a list such as `0,1`. */
  core: number | string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** Working directory; defaults to this project. */
  cwd?: string;
  /** Directory of its output file. */
  directory: string;
  /** Loopback port; the process has started when the port accepts connections. */
  port: number;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

export async function startPinned(options: PinnedOptions): Promise<PinnedProcess> {
  const { core, command, args, env, cwd = root, directory, port } = options;
  const output = openSync(join(directory, `output-${port}.log`), 'a');
  const child = spawn('taskset', ['-c', String(core), command, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', output, output],
  });
  await waitUntilListening(port, child, directory);
  const signal = async (name: NodeJS.Signals) => {
    if (child.pid === undefined || child.exitCode !== null) return;
    for (const pid of await processTree(child.pid)) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended meanwhile, as workers of PostgreSQL do.
      }
    }
  };
  return {
    // taskset replaces itself with the command, so this is the command's pid.
    pid: child.pid ?? 0,
    lastOutput: async () => (await readFile(join(directory, `output-${port}.log`), 'utf8')).slice(-2000),
    cpuSeconds: async () => {
      const pids = await processTree(child.pid ?? 0);
      // A process that has ended counts as 0.
      const seconds = await Promise.all(pids.map((each) => cpuSecondsOf(each).catch(() => 0)));
      return seconds.reduce((sum, part) => sum + part, 0);
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async stop() {
      await signal('SIGCONT');
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await exited;
      clearTimeout(killTimer);
    },
  };
}

/** A gateway first opens its port for a moment, to see whether it is free, and listens seconds later. */
const consecutiveConnections = 4;

async function waitUntilListening(port: number, child: ChildProcess, directory: string): Promise<void> {
  let connections = 0;
  for (let attempt = 0; attempt < 1200; attempt += 1) {
    if (child.exitCode !== null) break;
    connections = (await canConnect(port)) ? connections + 1 : 0;
    if (connections === consecutiveConnections) return;
    await sleep(25);
  }
  const output = await readFile(join(directory, `output-${port}.log`), 'utf8');
  throw new Error(`${child.spawnargs.join(' ')} does not listen on port ${port}; its output:\n${output}`);
}

async function processTree(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const pids = children.split(' ').filter(Boolean).map(Number);
  return [pid, ...(await Promise.all(pids.map(processTree))).flat()];
}
