import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { keepOutput, keepSecrets } from '../checks/evidence.ts';
import { send } from '../http/http.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Service extends AsyncDisposable {
  /** Port that it serves on. */
  port: number;
  url: string;
  adminUrl: string;
  pid: number;
  /** All it has written so far, errors included. */
  output(): string;
  /** Stops reading what it writes, as a log collector does that hangs. */
  pauseOutput(): void;
  resumeOutput(): void;
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or null where a signal ended it. */
  exited: Promise<number | null>;
  /** SIGTERM, and resolves when it has ended. */
  stop(): Promise<number | null>;
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs one of the project's programs to its end. */
export async function runProgram(
  args: string[],
  env: Record<string, string> = {},
  limits: Pick<SpawnOptions, 'openFiles' | 'fileBlocks'> = {},
): Promise<Ended> {
  const child = spawnNode(args, env, limits);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  keepSecrets(stdout);
  return { code, stdout, stderr };
}

interface SpawnOptions {
  ipc?: boolean;
  /** Limit of open files, as of `ulimit -n`; undefined for that of the tests. */
  openFiles?: number | undefined;
  /** Limit of a file's size in blocks of 512 bytes, as of `ulimit -f`: beyond, writing fails as on a full disk. */
  fileBlocks?: number | undefined;
  /** Descriptor of what its log goes to, in place of what is gathered as its output. */
  log?: number | undefined;
  /** Whether it leads a process group of its own, as a shell gives it. */
  ownGroup?: boolean | undefined;
}

function spawnNode(
  args: string[],
  env: Record<string, string>,
  { ipc = false, openFiles, fileBlocks, log, ownGroup = false }: SpawnOptions = {},
): ChildProcess {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', ...args];
  const limits = Object.entries({ n: openFiles, f: fileBlocks })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `ulimit -${name} ${value}; `);
  const [command = '', ...rest] =
    limits.length === 0 ? node : ['sh', '-c', `${limits.join('')}exec "$@"`, 'sh', ...node];
  return spawn(command, rest, {
    cwd: root,
    // Everything is logged, so that a secret would show (test/afterwards/). A process that cannot write files cannot
    // write its coverage either, and would complain.
    env: {
      ...cleanEnvironment(),
      ...(fileBlocks === undefined ? {} : { NODE_V8_COVERAGE: undefined }),
      LOG_LEVEL: 'debug',
      ...env,
    },
    stdio: ['ignore', log ?? 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
    detached: ownGroup,
  });
}

/**
 * The environment without variables that would configure the services or colour their output. Hundreds of processes are
 * started, so they share a cache of compiled code, except when coverage is measured, which the cache makes imprecise.
 */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_V8_COVERAGE } = process.env;
  return {
    PATH,
    HOME,
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
    ...(NODE_V8_COVERAGE === undefined
      ? { NODE_COMPILE_CACHE: join(inject('evidenceDirectory'), 'compiled') }
      : { NODE_V8_COVERAGE }),
  };
}

interface Ready {
  type: 'ready';
  port: number;
  adminPort?: number;
}

async function startService(
  script: string,
  env: Record<string, string>,
  options: SpawnOptions = {},
): Promise<Service> {
  const child = spawnNode([script], env, { ...options, ipc: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      keepOutput(chunk.toString());
    });
  }
  const exited = new Promise<number | null>((resolve) => {
    child.on('exit', resolve);
  });
  const ready = await new Promise<Ready>((resolve, reject) => {
    child.on('message', (message) => {
      if ((message as { type: string }).type === 'ready') resolve(message as Ready);
    });
    void exited.then((code) => reject(new Error(`${script} ended with ${code}:\n${output}`)));
  });
  const stop = () => {
    child.kill('SIGTERM');
    return exited;
  };
  return {
    port: ready.port,
    url: `http://127.0.0.1:${ready.port}`,
    adminUrl: `http://127.0.0.1:${ready.adminPort}`,
    pid: child.pid ?? 0,
    output: () => output,
    pauseOutput: () => child.stdout?.pause(),
    resumeOutput: () => child.stdout?.resume(),
    signal: (signal) => child.kill(signal),
    exited,
    stop,
    async [Symbol.asyncDispose]() {
      child.kill('SIGCONT');
      if (ready.adminPort !== undefined) keepOutput(await metricsOf(ready.adminPort));
      const hardStop = setTimeout(() => child.kill('SIGKILL'), 5000);
      await stop();
      clearTimeout(hardStop);
    },
  };
}

/** Nothing where it does not answer any more. */
async function metricsOf(adminPort: number): Promise<string> {
  return send(`http://127.0.0.1:${adminPort}/metrics`).then(
    ({ text }) => text,
    () => '',
  );
}

/** A gateway in a process of its own, on free ports. */
export function startGateway(
  env: Record<string, string>,
  options: Pick<SpawnOptions, 'openFiles' | 'ownGroup'> = {},
): Promise<Service> {
  const ports = { GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0' };
  return startService('gateway/server.ts', { ...ports, SHUTDOWN_DELAY_MS: '0', ...env }, options);
}

/** A pets service in a process of its own, on a free port; on an empty database it has the demo pets. */
export function startPetsService(
  env: Record<string, string>,
  options: Pick<SpawnOptions, 'log'> = {},
): Promise<Service> {
  const settings = { PETS_SERVICE_PORT: '0', DEMO: 'true', SHUTDOWN_DELAY_MS: '0', ...env };
  return startService('pets-service/server.ts', settings, options);
}
