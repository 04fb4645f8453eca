import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LogRequest } from '#runtime/log.ts';
import express, { type Express, type Request, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { GatewayError } from './errors.ts';
import { createApiKeyCache, type Caller } from './keys/api-key-cache.ts';
import { withCurrentRecord } from './keys/current-record.ts';
import type { InstanceConfig } from './platform/config/instance-config.ts';
import {
  createIsProxy,
  createPublicAddress,
  findClientAddress,
  findScheme,
  type PublicAddress,
} from './platform/http/addresses.ts';
import { createMessageClasses } from './platform/http/http-server.ts';
import { findAmbiguity, normalizeTarget } from './platform/http/request.ts';
import { asksForWebSocket, createWebSockets } from './platform/http/websocket.ts';
import type { Metrics } from './platform/observability/metrics.ts';
import type { RequestSpans } from './platform/observability/tracing.ts';
import { createAddressLimit, type AddressLimit } from './quota/address-limit.ts';
import { createQuota, type Quota } from './quota/quota.ts';
import {
  addressLimitHeaders,
  connectionLimitHeaders,
  type RateLimitHeaders,
} from './quota/rate-limit-headers.ts';
import {
  allowOrigins,
  answerUsage,
  answerWithoutKey,
  createOriginHeaders,
  createUsageLookup,
} from './request/answers.ts';
import { authenticate, createRefuseAnonymous } from './request/authenticate.ts';
import { begin, type Neighbour } from './request/begin.ts';
import { createGiveBack, enforceQuota } from './request/enforce-quota.ts';
import { proxyToService } from './request/proxy-to-service.ts';
import { receive } from './request/receive.ts';
import { recordAccess, recordRawResponse, showKnownSeries } from './request/record-access.ts';
import { renderError, renderFallback } from './request/render-error.ts';
import { loadApiDescription, type ApiDescription } from './upstream/api-description.ts';
import type { ServiceUpstream } from './upstream/transport.ts';

/** What steps need that know keys and quotas: all of it is of Redis. */
type KeysAndQuotas = Parameters<typeof createQuota>[0] &
  Parameters<typeof createApiKeyCache>[0] &
  Parameters<typeof createUsageLookup>[0] &
  Pick<Parameters<typeof enforceQuota>[0], 'decisionListeners'> &
  Pick<Parameters<typeof recordAccess>[0], 'failures'> &
  Pick<Parameters<typeof createGiveBack>[0], 'usageTotals'>;

type UsedSettings = 'services' | 'api' | 'trustProxy' | 'publicUrl' | 'supportUrl' | 'corsOrigins';

export interface GatewayDependencies extends Pick<InstanceConfig, UsedSettings>, KeysAndQuotas {
  /** Where the requests to each of the services go, in the same order. */
  upstreams: readonly ServiceUpstream[];
  log: Logger;
  logRequest: LogRequest;
  metrics: Metrics;
  /** Undefined if no traces are exported. */
  spans: RequestSpans | undefined;
  now: () => number;
  /** What is served beside the API. */
  neighbours: (parts: NeighbourParts) => readonly Neighbour[];
}

/** What neighbours share with the API. */
interface NeighbourParts {
  api: ApiDescription;
  publicAddress: PublicAddress;
  addressLimit: AddressLimit;
  log: Logger;
  now: () => number;
}

/** The gateway as a whole. Opens no socket: server.ts listens. */
export function createGateway(dependencies: GatewayDependencies) {
  const { services, supportUrl, log, metrics, now } = dependencies;
  const api = loadApiDescription(supportUrl, services, dependencies.api);
  showKnownSeries(metrics, api);
  const parts = createParts(dependencies, api);
  const { addressLimit, isProxy, originHeaders } = parts;
  const app = createApp(isProxy);
  addJourney(app, parts);
  const checks = setInterval(() => void parts.webSockets.closeUnless(isServed(parts)), webSocketCheckMs);

  return {
    /** Handles a request: normalizes its target, and then Express runs all steps. */
    app(req: IncomingMessage, res: ServerResponse): void {
      // Before Express, whose router reads the target first and must not see it change.
      normalizeTarget(req);
      // No request after an ambiguous one is served: its beginning is uncertain.
      if (findAmbiguity(req) !== undefined) res.shouldKeepAlive = false;
      app(req, res);
    },
    /** Classes for the HTTP server's requests and responses. */
    messageClasses: createMessageClasses(app),
    /** What the operations ask of keys. */
    access: () => api.access,
    /** All methods of the API. */
    allow: () => api.everything.allow,
    /** Whether an address belongs to a trusted proxy. */
    isProxy,
    /** Whether a request becomes a WebSocket. */
    isUpgrade(req: IncomingMessage): boolean {
      // Node asks before it passes the request on.
      normalizeTarget(req);
      return (
        asksForWebSocket(req) && api.match((req.url ?? '').split('?')[0] ?? '')?.service?.upgrade === true
      );
    },
    /** Ends all WebSockets, since the process ends. */
    closeWebSockets: parts.webSockets.closeAll,
    /** Headers with which a page of an origin may read a response. */
    originHeaders,
    /** Logs and counts the response to something that became no request. */
    onRawResponse: (...response: [error: GatewayError, address: string, requestId: string]) =>
      recordRawResponse({ log, metrics }, ...response),
    /** Charges an address for the same. @returns headers for the response to it */
    async chargeAddress(address: string, { code, headers }: GatewayError): Promise<RateLimitHeaders> {
      const { window } = await addressLimit.charge(address);
      if (code !== 'rate_limit_exceeded') return addressLimitHeaders(window, now());
      return connectionLimitHeaders(window, Number(headers['Retry-After']) * 1000, now());
    },
    close(): void {
      clearInterval(checks);
      for (const neighbour of parts.neighbours) neighbour.close?.();
    },
  };
}

/** A revoked or banned key keeps its WebSockets this much longer. */
const webSocketCheckMs = 5000;

/** Whether a caller's requests would be served. While that is unknown, its WebSockets last. */
function isServed({ apiKeys, lookUpUsage }: Parts): (caller: Caller) => Promise<boolean> {
  return async (caller) => {
    try {
      const current = await withCurrentRecord(apiKeys, caller, lookUpUsage);
      return current.outcome === 'current' ? current.result.banMs === 0 : current.error.status !== 401;
    } catch {
      return true;
    }
  };
}

/** The journey of a request, from top to bottom. */
function addJourney(app: Express, parts: Parts): void {
  const { api, log } = parts;
  const refuseAnonymous = createRefuseAnonymous(parts);

  // Order matters: each step may rely on every step above it. One route, since Express matches a path for each app.use.
  app
    .route(/^/)
    .all(
      begin(parts),
      recordAccess(parts),
      ...allowOrigins(parts),
      answerWithoutKey(parts),
      ofApi(authenticate({ ...parts, refuseAnonymous })),
      answerUsage({ ...parts, path: `${api.basePath}/usage`, refuseAnonymous }),
      ofApi(enforceQuota({ ...parts, refuseAnonymous })),
      receive(parts),
      proxyToService(parts),
    );
  app.use(renderError({ ...parts, giveBack: createGiveBack(parts) }));
  app.use(renderFallback({ log }));
}

/** Restricts a step to the paths of the API. Unlike Express' mounting it keeps the target. */
function ofApi(step: RequestHandler): RequestHandler {
  return function ofApi(req, res, next) {
    return res.locals.isOfApi ? step(req, res, next) : next();
  };
}

function createParts(dependencies: GatewayDependencies, api: ApiDescription) {
  const { redis, gate, plans, spans, publicUrl, corsOrigins, log, now } = dependencies;
  const { decide, giveBack } = createQuota(dependencies);
  const quota: Quota = {
    decide: spans === undefined ? decide : (...args) => spans.traceDecision(() => decide(...args)),
    giveBack,
  };
  const addressLimit = createAddressLimit({ redis, gate, limit: plans.anonymousMinute });
  const isProxy = createIsProxy(dependencies.trustProxy);
  const publicAddress = createPublicAddress(publicUrl, isProxy);
  return {
    ...dependencies,
    api,
    keyHeader: dependencies.api.keyHeader,
    apiKeys: createApiKeyCache(dependencies),
    quota,
    addressLimit,
    lookUpUsage: createUsageLookup(dependencies),
    webSockets: createWebSockets<Caller>(),
    isProxy,
    originHeaders: createOriginHeaders(corsOrigins),
    publicAddress,
    neighbours: dependencies.neighbours({ api, publicAddress, addressLimit, log, now }),
  };
}

type Parts = ReturnType<typeof createParts>;

function createApp(isProxy: (address: string) => boolean): Express {
  const app = express();
  app.disable('x-powered-by').set('etag', 'strong');
  app.enable('case sensitive routing').enable('strict routing');
  // Express' own, of its setting `trust proxy`, takes an address with its port for something unknown.
  Object.defineProperties(app.request, {
    ip: {
      get(this: Request) {
        return findClientAddress(this, isProxy);
      },
    },
    protocol: {
      get(this: Request) {
        return findScheme(this, isProxy);
      },
    },
  });
  return app;
}
