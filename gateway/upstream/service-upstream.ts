import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import type { ServiceConfig } from '../config/service-config.ts';
import { createAuthorize, type Authorize } from './internal-token.ts';
import { createReadinessProbe, type ReadinessProbe } from './readiness-probe.ts';
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
}

export interface ServiceUpstreams {
  /** By the ordinal of the service. */
  current(): readonly ServiceUpstream[];
  /**
   * Takes over other services. What did not change of a service is kept: instances with what is known of their health,
   * connections, tokens. Connections to an instance that was removed close when they have been idle for 5 s.
   * @returns a function that closes what is no longer used, to be called when requests that have begun have ended
   */
  replace(services: readonly ServiceConfig[], privateKey: KeyObject): () => Promise<void>;
  close(): Promise<void>;
}

interface ServiceUpstreamsDependencies {
  services: readonly ServiceConfig[];
  privateKey: KeyObject;
  log: Logger;
  /** Called at each change of the state of an instance, and with the first one; undefined when it is removed. */
  onState: (service: string, origin: string, state: TargetState | undefined) => void;
  now: () => number;
}

/** A service with what its parts were made from. */
interface Entry {
  service: ServiceConfig;
  privateKey: KeyObject;
  probe: ReadinessProbe;
  upstream: ServiceUpstream;
  /** Whether it is no longer among the services, so that only requests in flight use it. */
  removal: { done: boolean };
}

export function createServiceUpstreams(dependencies: ServiceUpstreamsDependencies): ServiceUpstreams {
  const { log, onState, now } = dependencies;
  let entries: readonly Entry[] = [];
  let current: readonly ServiceUpstream[] = [];

  function replace(services: readonly ServiceConfig[], privateKey: KeyObject): () => Promise<void> {
    const before = entries;
    const known = new Map(before.map((entry) => [entry.service.name, entry]));
    entries = services.map((service) => {
      const entry = known.get(service.name);
      return entry === undefined ? create(service, privateKey) : update(entry, service, privateKey);
    });
    current = entries.map(({ upstream }) => upstream);
    const gone = before.filter(({ service }) => !services.some(({ name }) => name === service.name));
    for (const entry of gone) {
      entry.removal.done = true;
      for (const { origin } of entry.upstream.upstreams.targets)
        onState(entry.service.name, origin, undefined);
    }
    const used = new Set(current.map(({ dispatcher }) => dispatcher));
    const unused = before.flatMap(({ upstream: { dispatcher } }) => (used.has(dispatcher) ? [] : dispatcher));
    return async () => {
      await Promise.all(gone.map(({ upstream }) => upstream.upstreams.close()));
      await Promise.all(unused.map((dispatcher) => dispatcher.destroy()));
    };
  }

  function create(service: ServiceConfig, privateKey: KeyObject): Entry {
    const { name, audience, urls, timeoutMs, connections, readiness } = service;
    const probe = createReadinessProbe(readiness);
    const removal = { done: false };
    const upstreams = createUpstreams({
      urls,
      probe,
      log: log.child({ upstreamService: name }),
      onState: (origin, state) => {
        if (!removal.done) onState(name, origin, state);
      },
      onRemoved: (origin) => onState(name, origin, undefined),
    });
    const upstream = {
      name,
      timeoutMs,
      upstreams,
      dispatcher: createUpstreamDispatcher(connections),
      authorize: createAuthorize(privateKey, now, audience),
    };
    return { service, privateKey, probe, upstream, removal };
  }

  function update(entry: Entry, service: ServiceConfig, privateKey: KeyObject): Entry {
    const { service: before, probe, upstream } = entry;
    const { audience, urls, timeoutMs, connections, readiness } = service;
    probe.path = readiness;
    upstream.upstreams.replace(urls);
    const sameConnections = connections === before.connections;
    const sameTokens = audience === before.audience && privateKey.equals(entry.privateKey);
    if (sameConnections && sameTokens && timeoutMs === before.timeoutMs) return { ...entry, service };
    const { dispatcher, authorize } = upstream;
    return {
      ...entry,
      service,
      privateKey,
      upstream: {
        ...upstream,
        timeoutMs,
        dispatcher: sameConnections ? dispatcher : createUpstreamDispatcher(connections),
        authorize: sameTokens ? authorize : createAuthorize(privateKey, now, audience),
      },
    };
  }

  replace(dependencies.services, dependencies.privateKey);
  return {
    current: () => current,
    replace,
    async close() {
      await Promise.all(current.map(({ upstreams }) => upstreams.close()));
      await Promise.all(current.map(({ dispatcher }) => dispatcher.destroy()));
    },
  };
}
