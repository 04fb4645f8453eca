import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { HttpLimits } from '../http/http-server.ts';
import {
  bytes,
  count,
  host,
  isPem,
  milliseconds,
  originList,
  port,
  proxyList,
  redisUrl,
  text,
  workers,
} from './env-schemas.ts';

/** Everything that can be set from outside. The table in README.md says what each setting means. */
export interface Config {
  /** Undefined: all interfaces. */
  host: string | undefined;
  port: number;
  adminHost: string;
  adminPort: number;
  /** Processes that serve requests. */
  workers: number;
  /** Origins of the instances of the pets service. */
  petsServiceUrls: string[];
  /** One of the forms of redis-url.ts; undefined: a private Redis is started. */
  redisUrl: string | undefined;
  dataDirectory: string;
  logLevel: string;
  trustProxy: string[];
  privateKeyFile: string | undefined;
  /** Where the public half of the key is written at each start, for the pets service to read. */
  publicKeyOutput: string | undefined;
  upstreamTimeoutMs: number;
  upstreamConnections: number;
  limits: HttpLimits;
  /** Between SIGTERM and the first connection that is refused. */
  shutdownDelayMs: number;
  shutdownTimeoutMs: number;
  demo: boolean;
}

/** Settings that can't be used, each named with what is wrong with it. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

const maxWorkers = 256;

const settings = z.object({
  GATEWAY_HOST: host.optional(),
  GATEWAY_PORT: port(8080),
  GATEWAY_ADMIN_HOST: host.default('127.0.0.1'),
  GATEWAY_ADMIN_PORT: port(9090),
  GATEWAY_WORKERS: workers(1, 1, maxWorkers),
  PETS_SERVICE_PORT: port(3001),
  PETS_SERVICE_URL: originList.optional(),
  REDIS_URL: redisUrl.optional(),
  DATA_DIR: text.default('.data'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'is none of fatal, error, warn, info, debug, trace, silent',
    })
    .default('info'),
  TRUST_PROXY: proxyList,
  INTERNAL_TOKEN_PRIVATE_KEY_FILE: text.optional(),
  INTERNAL_TOKEN_PUBLIC_KEY_OUTPUT: text.optional(),
  UPSTREAM_TIMEOUT_MS: milliseconds(10_000),
  HEADERS_TIMEOUT_MS: milliseconds(10_000),
  // Less than the pets service allows for the same request.
  REQUEST_TIMEOUT_MS: milliseconds(30_000, 1, 240_000),
  // Longer than the idle time of common load balancers, which is 60 s, lest one meets our closing.
  KEEP_ALIVE_TIMEOUT_MS: milliseconds(65_000),
  RESPONSE_TIMEOUT_MS: milliseconds(60_000),
  // The pets service takes 80 KiB: these and what the gateway adds.
  MAX_HEADER_BYTES: bytes(16_384, 2048, 65_536),
  MAX_REQUESTS_PER_CONNECTION: count(10_000),
  MAX_CONNECTIONS: count(10_000),
  MAX_CONNECTIONS_PER_ADDRESS: count(2000),
  UPSTREAM_CONNECTIONS: count(256),
  SHUTDOWN_DELAY_MS: milliseconds(2000, 0),
  SHUTDOWN_TIMEOUT_MS: milliseconds(30_000),
  DEMO: z
    .enum(['true', 'false'], { error: 'is neither true nor false' })
    .default('false')
    .transform((text) => text === 'true'),
});

/**
 * Reads the environment. An empty variable counts as unset, as compose files pass them on.
 * @throws ConfigError with every fault at once. It repeats no URL, which may hold a password, and no key.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const given = {
    ...standardsOf(env),
    ...Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')),
  };
  const parsed = settings.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => {
        const name = String(issue.path[0]);
        const value = given[name] ?? '';
        const shown = name.endsWith('_URL') || isPem(value) ? '' : `=${JSON.stringify(value)}`;
        return `${name}${shown} ${issue.message}`;
      }),
    );
  }
  const values = parsed.data;
  if (values.PETS_SERVICE_URL === undefined && values.PETS_SERVICE_PORT === 0) {
    throw new ConfigError([
      'PETS_SERVICE_PORT="0" does not say where the pets service is: set PETS_SERVICE_URL too',
    ]);
  }
  return Object.freeze({
    host: values.GATEWAY_HOST,
    port: values.GATEWAY_PORT,
    adminHost: values.GATEWAY_ADMIN_HOST,
    adminPort: values.GATEWAY_ADMIN_PORT,
    workers: values.GATEWAY_WORKERS,
    petsServiceUrls: values.PETS_SERVICE_URL ?? [`http://127.0.0.1:${values.PETS_SERVICE_PORT}`],
    redisUrl: values.REDIS_URL,
    dataDirectory: resolve(values.DATA_DIR),
    logLevel: values.LOG_LEVEL,
    trustProxy: values.TRUST_PROXY,
    privateKeyFile: values.INTERNAL_TOKEN_PRIVATE_KEY_FILE,
    publicKeyOutput: values.INTERNAL_TOKEN_PUBLIC_KEY_OUTPUT,
    upstreamTimeoutMs: values.UPSTREAM_TIMEOUT_MS,
    upstreamConnections: values.UPSTREAM_CONNECTIONS,
    limits: {
      maxHeaderBytes: values.MAX_HEADER_BYTES,
      headersTimeoutMs: values.HEADERS_TIMEOUT_MS,
      requestTimeoutMs: values.REQUEST_TIMEOUT_MS,
      responseTimeoutMs: values.RESPONSE_TIMEOUT_MS,
      keepAliveTimeoutMs: values.KEEP_ALIVE_TIMEOUT_MS,
      maxRequestsPerConnection: values.MAX_REQUESTS_PER_CONNECTION,
      maxConnections: values.MAX_CONNECTIONS,
      maxConnectionsPerAddress: values.MAX_CONNECTIONS_PER_ADDRESS,
    },
    shutdownDelayMs: values.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_MS,
    demo: values.DEMO,
  });
}

const isEverywhere = (host: string | undefined) => host === undefined || ['0.0.0.0', '::'].includes(host);

/**
 * For who listens, which ops does not.
 * @throws ConfigError where two servers would have one port: a gateway would even take itself for the pets service
 */
export function assertPortsDiffer({ host, port, adminHost, adminPort, petsServiceUrls }: Config): void {
  const endpoints = [
    { name: 'GATEWAY_PORT', host, port },
    { name: 'GATEWAY_ADMIN_PORT', host: adminHost, port: adminPort },
    ...petsServiceUrls
      .map((url) => new URL(url))
      .filter(({ hostname }) => ['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
      .map((url) => ({
        name: 'the port of the pets service',
        host: url.hostname.replace(/[[\]]/g, ''),
        port: Number(url.port),
      })),
  ];
  const faults = endpoints.flatMap((one, index) =>
    endpoints
      .slice(index + 1)
      .filter((other) => other.port === one.port && other.port !== 0)
      .filter((other) => isEverywhere(one.host) || isEverywhere(other.host) || one.host === other.host)
      .map((other) => `${one.name} and ${other.name} are both ${one.port}`),
  );
  if (faults.length > 0) throw new ConfigError(faults);
}

/** Settings whose default depends on where the gateway runs. */
function standardsOf({ NODE_ENV }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // As many as this process may use: fewer than the machine has, where its affinity or its cgroup says so.
  if (NODE_ENV === 'production')
    return { GATEWAY_WORKERS: String(Math.min(availableParallelism(), maxWorkers)) };
  return {};
}
