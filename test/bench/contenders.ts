import { spawnSync } from 'node:child_process';
import * as haproxy from './contenders/haproxy.ts';
import * as nginx from './contenders/nginx.ts';
import { cores, startPinned, type PinnedProcess } from './pinned-process.ts';

/** What all contenders stand on. */
export interface Setting {
  directory: string;
  upstreamPort: number;
  redisPort: number;
  /** SHA-1 of the gateway's script, as Redis knows it. */
  scriptSha: string;
}

export interface Contender {
  name: string;
  title: string;
  /** Whether it takes a while until its code is compiled. */
  isNode: boolean;
  /** What it needs and how that is had, where it is not here. */
  missing: string | undefined;
  start(setting: Setting, port: number): Promise<PinnedProcess>;
}

const has = (command: string, ...args: string[]) => spawnSync(command, args).error === undefined;
const missingPackage = (command: string, name: string) =>
  has(command, '-v') ? undefined : `needs the Debian package ${name}`;

/**
 * For all contenders on Node. V8 takes one that was paused for one that is idle, and gives its memory and compiled code
 * back in just the moment that is measured. Node's own code in large pages is what an operator can have for a flag.
 */
const nodeFlags = ['--no-memory-reducer', '--use-largepages=silent'];

function program(file: string): Contender['start'] {
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
  /** Directory of another version of this project. */
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
        PETS_SERVICE_URL: `http://127.0.0.1:${upstreamPort}`,
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

function server(
  command: string,
  args: (setting: Setting, port: number) => Promise<string[]>,
): Contender['start'] {
  return async (setting, port) =>
    startPinned({
      core: cores.contender,
      command,
      args: await args(setting, port),
      directory: setting.directory,
      port,
    });
}

/** What cannot take part, and why. */
export const leftOut: readonly string[] = [
  'express-gateway 1.16.11 (key-auth, rate-limit, proxy): it starts on Node 24 and answers single requests, but of ten connections that ask at once hardly one a second.',
];

const needsNginx = missingPackage('nginx', 'nginx-light');

/** The gateway of another checkout, to compare a change with. It needs its own node_modules. */
export const baseline = (directory: string): Contender => ({
  name: 'baseline',
  isNode: true,
  title: 'the gateway of the other checkout',
  missing: undefined,
  start: gateway({ cwd: directory }),
});

export const contenders: readonly Contender[] = [
  {
    name: 'direct',
    isNode: false,
    title: 'nothing between: the upstream itself',
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
  { name: 'gateway', title: 'this gateway', isNode: true, missing: undefined, start: gateway() },
  {
    name: 'gateway-no-log',
    isNode: true,
    title: 'this gateway, access log off',
    missing: undefined,
    start: gateway({ env: { LOG_LEVEL: 'warn' } }),
  },
  {
    name: 'gateway-workers',
    isNode: true,
    title: 'this gateway, two workers on both cores, which the load generator needs too',
    missing: undefined,
    start: gateway({ env: { GATEWAY_WORKERS: '2' }, core: `${cores.contender},${cores.support}` }),
  },
  {
    name: 'bare-undici',
    isNode: true,
    title: "this gateway's proxy alone: no keys, quotas, headers, log",
    missing: undefined,
    start: program('express-undici.ts'),
  },
  {
    name: 'bare',
    isNode: true,
    title: 'Express + http-proxy-middleware as they come, no gateway',
    missing: undefined,
    start: program('express-bare.ts'),
  },
  {
    name: 'two-limiters',
    isNode: true,
    title: 'Express + http-proxy-middleware + rate-limiter-flexible twice on Redis',
    missing: undefined,
    start: program('two-limiters.ts'),
  },
  {
    name: 'fastify',
    isNode: true,
    title: 'Fastify + @fastify/http-proxy + @fastify/rate-limit on Redis (one window)',
    missing: undefined,
    start: program('fastify.ts'),
  },
  {
    name: 'nginx-lua',
    isNode: false,
    title: 'nginx + Lua + the same script on Redis',
    missing: needsNginx,
    start: server('nginx', ({ directory, upstreamPort, redisPort, scriptSha }, port) =>
      nginx.lua({ directory, port, upstreamPort, redisPort }, scriptSha),
    ),
  },
  {
    name: 'nginx',
    isNode: false,
    title: 'nginx with limit_req, no Redis',
    missing: needsNginx,
    start: server('nginx', ({ directory, upstreamPort, redisPort }, port) =>
      nginx.limitReq({ directory, port, upstreamPort, redisPort }),
    ),
  },
  {
    name: 'haproxy',
    isNode: false,
    title: 'HAProxy with a stick table, no Redis',
    missing: missingPackage('haproxy', 'haproxy'),
    start: server('haproxy', ({ directory, upstreamPort }, port) =>
      haproxy.stickTable(directory, port, upstreamPort),
    ),
  },
];
