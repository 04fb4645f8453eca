import type { Logger } from 'pino';
import type { InstanceConfig } from '../instance.ts';
import { openFileLimit } from '../runtime/open-file-limit.ts';
import { ConfigError, type Config } from './config.ts';

/** Open files that a process needs for the log, Redis, probes, the admin port and what else there is. */
const reserved = 100;

/** Of clients' connections to one process: with fewer, a gateway would look healthy and refuse nearly everybody. */
const fewest = 50;

/**
 * What one process may have of what the settings allow the gateway, and fewer connections of clients where the system
 * would not let its processes have as many: beyond, it would refuse connections without a word, those of the admin
 * port among them.
 * @throws ConfigError where so few would be left that nobody were served by it
 */
export function shareLimits(
  config: Config,
  log: Logger,
): Omit<InstanceConfig, 'redisUrl' | 'redisIsPrivate'> {
  const { workers, limits, petsServiceUrls } = config;
  const wanted = limits.maxConnections;
  const upstreamConnections = Math.ceil(config.upstreamConnections / workers);
  const taken = upstreamConnections * petsServiceUrls.length;
  const openFiles = openFileLimit() ?? Infinity;
  const left = Math.max(0, openFiles - taken - reserved);
  if (left < Math.min(Math.ceil(wanted / workers), fewest)) {
    throw new ConfigError([
      `MAX_CONNECTIONS=${wanted} does not fit into the limit of open files (ulimit -n) of ${openFiles}, ` +
        `which leaves ${left} for connections of clients ${workers > 1 ? 'to each worker ' : ''}` +
        `after ${reserved} and UPSTREAM_CONNECTIONS to each address in PETS_SERVICE_URL, ` +
        `which are ${upstreamConnections} x ${petsServiceUrls.length}: raise ulimit -n or lower UPSTREAM_CONNECTIONS`,
    ]);
  }
  const maxOwnConnections = Math.min(left, wanted);
  const maxConnections = Math.min(wanted, maxOwnConnections * workers);
  if (maxConnections < wanted) {
    log.warn(
      { maxConnections, wanted, openFiles, upstreamConnections: taken },
      'MAX_CONNECTIONS is lowered to what the limit of open files (ulimit -n) leaves beside UPSTREAM_CONNECTIONS',
    );
  }
  return { ...config, upstreamConnections, maxOwnConnections, limits: { ...limits, maxConnections } };
}
