import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import {
  boolean,
  ConfigError,
  logLevel,
  milliseconds,
  parseEnvironment,
  port,
  text,
  wholeNumber,
} from '#runtime/environment.ts';
import { z } from 'zod';
import {
  hostNameList,
  networkList,
  origin,
  originList,
  pageOrigins,
  proxyList,
  publicUrl,
  redisUrl,
  supportUrl,
  tracingVariables,
} from './env-schemas.ts';
import { defaultMaxBodyBytes, largestBodyBytes } from './service-config.ts';

/** Settings that the pets service has as well, by the same names. */
export const serviceSettings = {
  DATA_DIR: text
    .default('.data')
    .describe('directory of embedded stores, generated token keys and the demo key'),
  LOG_LEVEL: logLevel.default('info').describe('fatal, error, warn, info, debug, trace or silent'),
  REQUEST_TIMEOUT_MS: milliseconds()
    .default(30_000)
    .describe('timeout for each 64 KiB of a request body; twice that to read the response'),
  // Longer than the idle timeout of common load balancers, 60 s, so that they do not use a connection being closed.
  KEEP_ALIVE_TIMEOUT_MS: milliseconds().default(65_000).describe("idle timeout of a client's connection"),
  SHUTDOWN_DELAY_MS: milliseconds(0)
    .default(2000)
    .describe('time between SIGTERM and the first refused connection'),
  SHUTDOWN_TIMEOUT_MS: milliseconds().default(30_000).describe('time for requests in flight after that'),
  DEMO: boolean
    .default(false)
    .describe('demo pets in an empty database, a demo key, migrations at startup; true with `npm start`'),
  ...tracingVariables,
};

/** Everything that can be set from outside. */
export type Config = ReturnType<typeof loadConfig>;

/** Limits of the HTTP server for one client. */
export type HttpLimits = Config['limits'];

/** Base path of operations whose description names no other. */
export const defaultBasePath = '/v1';

const maxWorkers = 256;

const count = wholeNumber(1, 99_999);

export const settings = z.object({
  GATEWAY_HOST: text.optional().describe('address of the API; unset: all interfaces'),
  GATEWAY_PORT: port.default(8080).describe('port of the API; 0 lets the system choose'),
  PUBLIC_URL: publicUrl
    .optional()
    .describe(
      'where clients see the API, such as `https://api.example.com`; unset: the origin of each request',
    ),
  SUPPORT_URL: supportUrl
    .optional()
    .describe('where clients find help, such as `mailto:support@example.com`; shown on the pages'),
  CORS_ORIGINS: pageOrigins.describe(
    'sites whose pages may use the API, separated by commas, or `*` for all',
  ),
  GATEWAY_ADMIN_HOST: text.default('127.0.0.1').describe('address of the admin port'),
  GATEWAY_ADMIN_PORT: port.default(9090).describe('port of `/livez`, `/readyz`, `/metrics` and the console'),
  ADMIN_HOSTS: hostNameList.describe('names of the admin port, separated by commas, besides `localhost`'),
  ADMIN_URL: origin
    .optional()
    .describe('where people open the console behind a proxy; with https, it works nowhere else'),
  GATEWAY_WORKERS: wholeNumber(1, maxWorkers, 'workers')
    .default(1)
    .describe('processes that serve requests; with `NODE_ENV=production`, by default one a core'),
  SERVICES_FILE: text.optional().describe('YAML file with the services; unset: the pets service alone'),
  PETS_SERVICE_PORT: port.default(3001).describe('port of the pets service; 0 needs `PETS_SERVICE_URL` too'),
  PETS_SERVICE_URL: originList
    .optional()
    .describe('origins of the instances of the pets service, separated by commas; unset: this machine'),
  REDIS_URL: redisUrl
    .optional()
    .describe('address of Redis, of Sentinels or of a Cluster; unset: the gateway starts a private Redis'),
  REDIS_URL_FILE: text.optional().describe('file that holds `REDIS_URL`'),
  TRUST_PROXY: proxyList.describe(
    'addresses, networks, `loopback` or `uniquelocal`, separated by commas, whose `X-Forwarded-*` is trusted',
  ),
  INTERNAL_TOKEN_PRIVATE_KEY_FILE: text
    .optional()
    .describe('PEM file with the EC P-256 private key that signs tokens; unset: made in `DATA_DIR`'),
  UPSTREAM_TIMEOUT_MS: milliseconds()
    .default(10_000)
    .describe('timeout for a response of a service; for a streamed one, for its head and between chunks'),
  MAX_CONNECTIONS: count
    .default(10_000)
    .describe('connections of clients; idle ones give way to new ones, further ones get 503'),
  MAX_CONNECTIONS_PER_ADDRESS: count
    .default(2000)
    .describe('connections of an address (IPv6 /56), unless it is in `TRUST_PROXY`; further ones get 429'),
  UPSTREAM_CONNECTIONS: count
    .default(256)
    .describe('connections to each instance of a service; further requests wait'),
  MAX_BODY_BYTES: wholeNumber(1, largestBodyBytes, 'bytes')
    .default(defaultMaxBodyBytes)
    .describe(
      'size of the body of a request, unless the service has its own `maxBodyBytes`; a larger one is 413',
    ),
  WEBHOOK_ALLOWED_NETWORKS: networkList.describe(
    'networks that are not public and that webhooks may lead to, also without TLS, separated by commas',
  ),
  ...serviceSettings,
});

/** @throws ConfigError with every invalid setting */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const values = inCamelCase(parseEnvironment(settings, env, environmentDefaults(env)));
  const { servicesFile, petsServiceUrl, petsServicePort, requestTimeoutMs } = values;
  if (servicesFile !== undefined && petsServiceUrl !== undefined) {
    throw new ConfigError([
      'SERVICES_FILE and PETS_SERVICE_URL are both set: name the instances of the pets service in the file',
    ]);
  }
  if (servicesFile === undefined && petsServiceUrl === undefined && petsServicePort === 0) {
    throw new ConfigError([
      'PETS_SERVICE_PORT="0" lets the system choose, so the gateway cannot find the pets service: set PETS_SERVICE_URL too',
    ]);
  }
  return Object.freeze({
    ...values,
    dataDir: resolve(values.dataDir),
    servicesFile: servicesFile && resolve(servicesFile),
    petsServiceUrls: petsServiceUrl ?? [`http://127.0.0.1:${petsServicePort}`],
    limits: {
      /** Bytes of a request's target and headers together: Node's own default. A longer token or cookie is a mistake. */
      maxHeaderBytes: 16_384,
      /** Time for a request as a whole to arrive. */
      requestTimeoutMs,
      /** Time for a response to be read, which may be larger than a request. */
      responseTimeoutMs: 2 * requestTimeoutMs,
      /** Time that a connection may stay open between two requests. */
      keepAliveTimeoutMs: values.keepAliveTimeoutMs,
      // Clients that never close a connection move to new instances after that many.
      maxRequestsPerConnection: 10_000,
      maxConnections: values.maxConnections,
      maxConnectionsPerAddress: values.maxConnectionsPerAddress,
    },
    /** Share of new traces that are recorded; undefined: no traces are exported. */
    tracing:
      values.otelExporterOtlpEndpoint === undefined ? undefined : { ratio: values.otelTracesSamplerArg },
  });
}

/** A setting as a field: SUPPORT_URL is supportUrl, and GATEWAY_PORT, in the gateway, is port. */
type CamelCase<Name extends string> = Name extends `GATEWAY_${infer Rest}`
  ? CamelCase<Rest>
  : Name extends `${infer Word}_${infer Rest}`
    ? `${Lowercase<Word>}${Capitalize<CamelCase<Rest>>}`
    : Lowercase<Name>;

const camelCase = (name: string) =>
  name
    .replace('GATEWAY_', '')
    .toLowerCase()
    .replaceAll(/_(.)/g, (_match, first: string) => first.toUpperCase());

function inCamelCase<Values extends object>(
  values: Values,
): { [Name in keyof Values as CamelCase<Name & string>]-?: Values[Name] };
function inCamelCase(values: object): object {
  const names = Object.keys(settings.shape);
  return Object.fromEntries(names.map((name) => [camelCase(name), Reflect.get(values, name)]));
}

/** Settings whose default depends on the environment. */
function environmentDefaults({ NODE_ENV }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (NODE_ENV !== 'production') return {};
  // The cores that this process may use: affinity or a cgroup limit may leave fewer than the machine has.
  return { GATEWAY_WORKERS: String(Math.min(availableParallelism(), maxWorkers)) };
}
