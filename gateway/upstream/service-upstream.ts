import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import type { ServiceConfig } from '../config/service-config.ts';
import { createAuthorize, type Authorize } from './internal-token.ts';
import { createReadinessProbe } from './readiness-probe.ts';
import type { TargetState } from './target.ts';
import { createUpstreamPool } from './upstream-pool.ts';
import { createUpstreams, type Upstreams } from './upstreams.ts';

/** Everything that requests to one service need. Services share nothing, so that one that fails leaves the others alone. */
export interface ServiceUpstream {
  name: string;
  timeoutMs: number;
  /** Maximum number of streams of one customer: half of all connections, so that nobody takes all of them. */
  maxStreamsOfCustomer: number;
  /** Whether its responses may set cookies. */
  setCookie: boolean | undefined;
  upstreams: Upstreams;
  dispatcher: Dispatcher;
  authorize: Authorize;
}

interface ServiceUpstreamsDependencies {
  services: readonly ServiceConfig[];
  privateKey: KeyObject;
  log: Logger;
  /** Called at each change of the state of an instance, and with the first one. */
  onState: (service: string, origin: string, state: TargetState) => void;
  now: () => number;
}

/** @returns one for each service, in the same order */
export function createServiceUpstreams(
  dependencies: ServiceUpstreamsDependencies,
): readonly ServiceUpstream[] {
  const { services, privateKey, log, onState, now } = dependencies;
  return services.map(({ name, audience, urls, timeoutMs, connections, readiness, setCookie }) => ({
    name,
    timeoutMs,
    maxStreamsOfCustomer: Math.max(1, Math.floor((connections * urls.length) / 2)),
    setCookie,
    upstreams: createUpstreams({
      urls,
      probe: createReadinessProbe(readiness),
      log: log.child({ upstreamService: name }),
      onState: (origin, state) => onState(name, origin, state),
    }),
    dispatcher: createUpstreamPool(connections),
    authorize: createAuthorize(privateKey, now, audience),
  }));
}

export async function closeServiceUpstreams(services: readonly ServiceUpstream[]): Promise<void> {
  await Promise.all(services.map(({ upstreams }) => upstreams.close()));
  await Promise.all(services.map(({ dispatcher }) => dispatcher.destroy()));
}
