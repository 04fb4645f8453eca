import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import type { ServiceConfig } from '../config/service-config.ts';
import { createAuthorize, type Authorize } from './internal-token.ts';
import { createReadinessProbe } from './readiness-probe.ts';
import type { TargetState } from './target.ts';
import { createUpstreamDispatcher } from './upstream-connections.ts';
import { createUpstreams, type Upstreams } from './upstreams.ts';

/** Everything that requests to one service need. Services share nothing, so that one that fails leaves the others alone. */
export interface ServiceUpstream {
  name: string;
  timeoutMs: number;
  upstreams: Upstreams;
  dispatcher: Dispatcher;
  authorize: Authorize;
  close(): Promise<void>;
}

interface ServiceUpstreamDependencies {
  service: ServiceConfig;
  privateKey: KeyObject;
  log: Logger;
  /** Called at each change of the state of an instance, and with the first one. */
  onState: (origin: string, state: TargetState) => void;
  now: () => number;
}

export function createServiceUpstream(dependencies: ServiceUpstreamDependencies): ServiceUpstream {
  const { service, privateKey, log, onState, now } = dependencies;
  const { name, audience, urls, timeoutMs, connections, readiness } = service;
  const dispatcher = createUpstreamDispatcher(connections);
  const upstreams = createUpstreams({
    urls,
    probe: createReadinessProbe(readiness),
    log: log.child({ upstreamService: name }),
    onState,
  });
  return {
    name,
    timeoutMs,
    upstreams,
    dispatcher,
    authorize: createAuthorize(privateKey, now, audience),
    async close() {
      await upstreams.close();
      await dispatcher.destroy();
    },
  };
}
