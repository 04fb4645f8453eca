import { spawnSync } from 'node:child_process';
import { nginxWithLua } from './contenders/nginx.ts';
import { cores, startPinned, type PinnedProcess } from './pinned-process.ts';

/** Environment that all contenders share. */
export interface BenchEnvironment {
  directory: string;
  upstreamPort: number;
  redisPort: number;
  /** SHA-1 of consume.lua, which Redis has loaded. */
  scriptSha: string;
}

export interface Contender {
  name: string;
  title: string;
  /** Whether V8 has to compile its code first, which takes a longer warm-up. */
  isNode: boolean;
  /** Unmet requirement, such as a package; undefined if the contender can run. */
  missing: string | undefined;
  start(environment: BenchEnvironment, port: number): Promise<PinnedProcess>;
}

/**
 * V8 takes a paused process for an idle one and discards memory and compiled code when the measurement begins, so its
 * memory reducer is off. Large pages for Node's own code are a flag that operators can set too. The initial size of the
 * old space is that of the gateway's image: without it, some processes collect it every few seconds and others do not.
 */
const nodeFlags = ['--no-memory-reducer', '--use-largepages=silent', '--initial-old-space-size=256'];

function nodeProgram(file: string): Contender['start'] {
  return ({ directory, upstreamPort, redisPort }, port) =>
    startPinned({
      core: cores.contender,
      command: process.execPath,
      args: [...nodeFlags, `test/bench/contenders/${file}`],
      env: {
        PORT: String(port),
        UPSTREAM: `http://127.0.0.1:${upstreamPort}`,
        REDIS: `redis://127.0.0.1:${redisPort}`,
      },
      directory,
      port,
    });
}

interface GatewayOptions {
  env?: Record<string, string>;
  core?: number | string;
  /** Directory of another checkout. */
  cwd?: string;
}

function gateway({ env = {}, core = cores.contender, cwd }: GatewayOptions = {}): Contender['start'] {
  return ({ directory, upstreamPort, redisPort }, port) =>
    startPinned({
      core,
      command: process.execPath,
      args: [...nodeFlags, 'gateway/server.ts'],
      env: {
        GATEWAY_PORT: String(port),
        GATEWAY_ADMIN_PORT: '0',
        GATEWAY_HOST: '127.0.0.1',
        ...('SERVICES_FILE' in env ? {} : { PETS_SERVICE_URL: `http://127.0.0.1:${upstreamPort}` }),
        REDIS_URL: `redis://127.0.0.1:${redisPort}`,
        DATA_DIR: directory,
        SHUTDOWN_DELAY_MS: '0',
        GATEWAY_WORKERS: '1',
        MAX_CONNECTIONS_PER_ADDRESS: '5000',
        ...env,
      },
      ...(cwd === undefined ? {} : { cwd }),
      directory,
      port,
    });
}

const needsNginx =
  spawnSync('nginx', ['-v']).error === undefined ? undefined : 'requires the Debian package nginx-light';

/** Gateway of another checkout, to measure the effect of a change. The checkout needs its own node_modules. */
export const baseline = (directory: string, env: Record<string, string> = {}): Contender =>
  ofNode('baseline', 'gateway of the other checkout', gateway({ cwd: directory, env }));

/** A contender that runs in Node. */
const ofNode = (name: string, title: string, start: Contender['start']): Contender => ({
  name,
  isNode: true,
  title,
  missing: undefined,
  start,
});

/** This gateway with further settings. */
export const thisGateway = (name: string, env: Record<string, string> = {}): Contender =>
  ofNode(name, 'this gateway', gateway({ env }));

export const contenders: readonly Contender[] = [
  {
    name: 'direct',
    isNode: false,
    title: 'upstream without a proxy',
    missing: needsNginx,
    start: () =>
      Promise.resolve({
        pid: 0,
        lastOutput: () => Promise.resolve(''),
        cpuSeconds: () => Promise.resolve(0),
        pause: () => Promise.resolve(),
        resume: () => Promise.resolve(),
        stop: () => Promise.resolve(),
      }),
  },
  thisGateway('gateway'),
  ofNode('gateway-no-log', 'this gateway, access log off', gateway({ env: { LOG_LEVEL: 'warn' } })),
  ofNode(
    'gateway-workers',
    'this gateway, two workers on both cores, shared with the load generator',
    gateway({ env: { GATEWAY_WORKERS: '2' }, core: `${cores.contender},${cores.support}` }),
  ),
  ofNode(
    'bare-undici',
    "this gateway's proxy only: no keys, quotas, headers or log",
    nodeProgram('express-undici.ts'),
  ),
  ofNode('bare', 'Express + http-proxy-middleware, no gateway features', nodeProgram('express-bare.ts')),
  ofNode(
    'fastify',
    'Fastify + @fastify/http-proxy + @fastify/rate-limit on Redis (one window)',
    nodeProgram('fastify.ts'),
  ),
  {
    name: 'nginx-lua',
    isNode: false,
    title: 'nginx + Lua + the same Redis script',
    missing: needsNginx,
    start: async (environment, port) =>
      startPinned({
        core: cores.contender,
        command: 'nginx',
        args: await nginxWithLua(environment, port),
        directory: environment.directory,
        port,
      }),
  },
];
