import { readFileSync } from 'node:fs';
import { ConfigError } from '#runtime/environment.ts';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { ApiConfig, ServiceConfig } from './service-config.ts';

/** Settings of a process that serves requests, with what was found out and computed at the start. */
export interface InstanceConfig extends Config {
  redisUrl: string;
  /** Whether the gateway runs this Redis itself, and so knows how it keeps its data. */
  redisIsPrivate: boolean;
  /** The services behind the gateway; their connections, and those of `limits`, are those of one process. */
  services: readonly ServiceConfig[];
  api: ApiConfig;
}

/** Open files that a process needs: 100 for the admin port, 50 for clients being refused, and the log, Redis and probes. */
const reservedFiles = 200;

/** Minimum of client connections for one process. With fewer, a gateway would look healthy and refuse nearly everyone. */
const minConnections = 50;

/**
 * Divides the connections that the settings allow the gateway among its processes, rounded up. Lowers MAX_CONNECTIONS to what the
 * limit of open files allows: beyond it the system refuses connections silently, those of the admin port included.
 * @throws ConfigError if too few client connections would be left
 */
export function divideConnections(
  config: Config & Pick<InstanceConfig, 'services'>,
  log: Logger,
): Pick<InstanceConfig, 'services' | 'limits'> {
  const { workers } = config;
  const share = (count: number) => Math.ceil(count / workers);
  const wanted = share(config.limits.maxConnections);
  const services = config.services.map((service) => ({
    ...service,
    connections: share(service.connections),
  }));
  const taken = services.reduce((sum, { connections, urls }) => sum + connections * urls.length, 0);
  const openFiles = openFileLimit() ?? Infinity;
  const left = Math.max(0, openFiles - taken - reservedFiles);
  if (left < Math.min(wanted, minConnections)) {
    throw new ConfigError([
      `MAX_CONNECTIONS=${config.limits.maxConnections} does not fit into the limit of open files (ulimit -n) of ${openFiles}, ` +
        `which leaves ${left} for client connections ${workers > 1 ? 'to each worker ' : ''}` +
        `after ${reservedFiles} and UPSTREAM_CONNECTIONS to each address in ${config.servicesFile === undefined ? 'PETS_SERVICE_URL' : 'SERVICES_FILE'}, ` +
        `which are ${services.map(({ connections, urls }) => `${connections} x ${urls.length}`).join(' + ')}: raise ulimit -n or lower UPSTREAM_CONNECTIONS`,
    ]);
  }
  const maxConnections = Math.min(left, wanted);
  if (maxConnections < wanted) {
    log.warn(
      { maxConnections, wanted, openFiles, upstreamConnections: taken },
      'MAX_CONNECTIONS is lowered to what the limit of open files (ulimit -n) leaves to a process beside UPSTREAM_CONNECTIONS',
    );
  }
  const maxConnectionsPerAddress = share(config.limits.maxConnectionsPerAddress);
  return { services, limits: { ...config.limits, maxConnections, maxConnectionsPerAddress } };
}

/**
 * Number of files and connections that the system lets this process open (`ulimit -n`).
 * @returns undefined on systems without /proc/self/limits (proc(5)), which is all but Linux
 */
function openFileLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
