import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { evidenceDirectory, recordOutput, recordSecrets } from '../checks/evidence.ts';
import { send } from '../http/http.ts';
import { outputOf } from '../programs.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Service extends AsyncDisposable {
  /** Port for clients. */
  port: number;
  url: string;
  adminUrl: string;
  pid: number;
  /** Everything written to stdout and stderr so far. */
  output(): string;
  /** Stops reading stdout, like a log collector that hangs. */
  pauseOutput(): void;
  resumeOutput(): void;
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or null after a signal. */
  exited: Promise<number | null>;
  /** Sends SIGTERM, and resolves on exit. */
  stop(): Promise<number | null>;
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs one of the project's programs until it exits. */
export async function runProgram(
  args: string[],
  env: Record<string, string> = {},
  limits: Pick<SpawnOptions, 'openFiles' | 'fileBlocks' | 'directory' | 'input'> = {},
): Promise<Ended> {
  const child = spawnNode(args, env, limits);
  // A program may exit without reading all of it.
  child.stdin?.on('error', () => {});
  child.stdin?.end(limits.input);
  const read = (stream: Readable | null) => (stream === null ? '' : text(stream));
  const [closed, stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    read(child.stdout),
    read(child.stderr),
  ]);
  recordSecrets(stdout);
  return { code: closed[0], stdout, stderr };
}

let opsHost: ChildProcess | undefined;
let opsEnded: Promise<unknown> = Promise.resolve();

/**
 * Runs an ops command to its end, in a process that runs all of a test file, one after the other.
 * runProgram starts one of its own, for what concerns signals, pipes and standard input.
 */
export function runOps(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const ended = opsEnded.then(async () => {
    opsHost ??= spawnNode(['test/support/kits/ops-host.ts'], {}, { ipc: true });
    const host = opsHost;
    const reply = new Promise<Ended>((resolve, reject) => {
      host.once('message', (message) => resolve(message as Ended));
      host.once('exit', (code) => reject(new Error(`the process of ops commands ended with ${code}`)));
    });
    host.send({ args, env });
    const result = await reply.finally(() => host.removeAllListeners());
    recordSecrets(result.stdout);
    return result;
  });
  opsEnded = ended.catch(() => {
    opsHost = undefined;
  });
  return ended;
}

interface SpawnOptions {
  ipc?: boolean;
  /** Limit of open files (`ulimit -n`). */
  openFiles?: number;
  /** Limit of file size in blocks of 512 bytes (`ulimit -f`): writes beyond it fail as on a full disk. */
  fileBlocks?: number;
  /** File descriptor that receives the log instead of output(). */
  log?: number;
  /** Directory of the sources, by default this checkout. */
  directory?: string | undefined;
  /** Text for standard input, which is empty otherwise. */
  input?: string;
  /** Whether it leads its own process group, as under a shell. */
  ownGroup?: boolean;
  /** Further flags of Node. */
  flags?: readonly string[];
}

function spawnNode(args: string[], env: Record<string, string>, options: SpawnOptions): ChildProcess {
  const { openFiles, fileBlocks, directory = root, input, ownGroup = false, flags = [] } = options;
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', ...flags, ...args];
  const limits = Object.entries({ n: openFiles, f: fileBlocks })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `ulimit -${name} ${value}; `);
  const [command = '', ...rest] =
    limits.length === 0 ? node : ['sh', '-c', `${limits.join('')}exec "$@"`, 'sh', ...node];
  return spawn(command, rest, {
    cwd: directory,
    // The level debug shows secrets that are logged by mistake (test/afterwards/). With a file size limit, writing the
    // coverage would fail.
    env: {
      ...cleanEnvironment(),
      ...(fileBlocks === undefined ? coverageOf(args[0]) : {}),
      LOG_LEVEL: 'debug',
      ...env,
    },
    stdio: [
      input === undefined ? 'ignore' : 'pipe',
      options.log ?? 'pipe',
      'pipe',
      ...(options.ipc ? (['ipc'] as const) : []),
    ],
    detached: ownGroup,
  });
}

/** Where coverage is counted, if it is: with NODE_V8_COVERAGE that of all processes, with TEST_COVERAGE that of a few. */
export function coverageDirectory(): string | undefined {
  return process.env['NODE_V8_COVERAGE'] ?? process.env['TEST_COVERAGE'];
}

const countedPrograms = new Set<string | undefined>();

/**
 * A process whose coverage is counted starts without the compile cache, which would make it imprecise, and so takes twice
 * the time. Of a file of tests, with TEST_COVERAGE, the first process of each program does.
 */
function coverageOf(program: string | undefined): Record<string, string> {
  const directory = coverageDirectory();
  const first = !countedPrograms.has(program);
  countedPrograms.add(program);
  return directory === undefined || !(first || 'NODE_V8_COVERAGE' in process.env)
    ? {}
    : { NODE_V8_COVERAGE: directory, NODE_DISABLE_COMPILE_CACHE: '1' };
}

/** The hundreds of processes of a run share one. */
export function compileCache(): Record<string, string> {
  const shared = evidenceDirectory();
  return shared === undefined ? {} : { NODE_COMPILE_CACHE: join(shared, 'compiled') };
}

/** The environment without variables that configure the services or colour their output. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...compileCache() };
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
  const output = outputOf(child, recordOutput);
  const exited = new Promise<number | null>((resolve) => {
    child.on('exit', resolve);
  });
  const ready = await new Promise<Ready>((resolve, reject) => {
    child.on('message', (message) => {
      if ((message as { type: string }).type === 'ready') resolve(message as Ready);
    });
    void exited.then((code) => reject(new Error(`${script} exited with ${code}:\n${output()}`)));
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
    output,
    pauseOutput: () => child.stdout?.pause(),
    resumeOutput: () => child.stdout?.resume(),
    signal: (signal) => child.kill(signal),
    exited,
    stop,
    async [Symbol.asyncDispose]() {
      child.kill('SIGCONT');
      if (ready.adminPort !== undefined) {
        // None of a service that does not respond any more.
        const metrics = await send(`http://127.0.0.1:${ready.adminPort}/metrics`).catch(() => undefined);
        recordOutput(metrics?.text ?? '');
      }
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await stop();
      clearTimeout(killTimer);
    },
  };
}

/** Starts a gateway as a process on free ports. */
export function startGateway(
  env: Record<string, string>,
  options: Pick<SpawnOptions, 'openFiles' | 'ownGroup' | 'directory' | 'flags'> = {},
): Promise<Service> {
  const ports = { GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0' };
  return startService('gateway/server.ts', { ...ports, SHUTDOWN_DELAY_MS: '0', ...env }, options);
}

/** What a gateway says of Redis: `ok` or `unavailable`. */
export async function redisStateOf({ adminUrl }: Pick<Service, 'adminUrl'>): Promise<string> {
  return ((await send(`${adminUrl}/readyz`)).json as { redis: string }).redis;
}

/** Value of a series of a gateway's metrics, named with all its labels; undefined if it does not exist. */
export async function metricOf(
  { adminUrl }: Pick<Service, 'adminUrl'>,
  series: string,
): Promise<number | undefined> {
  const { text } = await send(`${adminUrl}/metrics`);
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** Starts the example of an orders service as a process on a port. */
export function startOrdersService(port: number, dataDirectory: string): Promise<Service> {
  const publicKey = join(dataDirectory, 'internal-token', 'public.pem');
  const env = { ORDERS_PORT: String(port), TOKEN_PUBLIC_KEY_FILE: publicKey };
  return startService('gateway/upstream/example/orders-service.ts', env);
}

/** Starts a pets service as a process on a free port. It fills an empty database with the demo pets. */
export function startPetsService(
  env: Record<string, string>,
  options: Pick<SpawnOptions, 'log' | 'directory'> = {},
): Promise<Service> {
  const settings = { PETS_SERVICE_PORT: '0', DEMO: 'true', SHUTDOWN_DELAY_MS: '0', ...env };
  return startService('pets-service/server.ts', settings, options);
}
