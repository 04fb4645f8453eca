import type { IncomingMessage, RequestListener } from 'node:http';
import { findAmbiguity } from '#runtime/malformed-request.ts';
import { createMessageClasses, type MessageClasses } from '#runtime/message-classes.ts';
import { normalizeTarget } from '#runtime/normalize-target.ts';
import express, { type Express, type Request } from 'express';
import type { Logger } from 'pino';
import { loadApiDescription, type ApiDescription } from './api-description.ts';
import { createApiKeyCache, type Caller } from './api-keys/api-key-cache.ts';
import { withCurrentRecord } from './api-keys/current-record.ts';
import { assertPublicUrl } from './config/config.ts';
import type { ApiConfig, ServiceConfig } from './config/service-config.ts';
import { loadDocs } from './docs/docs.ts';
import type { GatewayError } from './errors.ts';
import { findClientAddress } from './http/client-address.ts';
import { createPublicAddress, findScheme } from './http/public-address.ts';
import { createIsProxy } from './http/trusted-proxies.ts';
import { asksForWebSocket, createWebSockets } from './http/websocket.ts';
import { allowOrigins, createOriginHeaders } from './journey/allow-origins.ts';
import { answerUsage } from './journey/answer-usage.ts';
import { answerOptions, serveDescription } from './journey/answer-without-key.ts';
import { assignRequestId } from './journey/assign-request-id.ts';
import { authenticate } from './journey/authenticate.ts';
import { createGiveBack, enforceQuota } from './journey/enforce-quota.ts';
import { matchRoute } from './journey/match-route.ts';
import { proxyToService } from './journey/proxy-to-service.ts';
import { createLargeBodySlots, receiveBody } from './journey/receive-body.ts';
import { recordAccess, recordRawResponse } from './journey/record-access.ts';
import { createRefuseAnonymous } from './journey/refuse-anonymous.ts';
import { rejectMalformed, rejectUnknownRoute } from './journey/reject-request.ts';
import { renderError, renderFallback } from './journey/render-error.ts';
import { serveDocs } from './journey/serve-docs.ts';
import { servePortal } from './journey/serve-portal.ts';
import { setSecurityHeaders } from './journey/set-security-headers.ts';
import { traceRequest } from './journey/trace-request.ts';
import { outsidePath, underPath } from './journey/under-path.ts';
import { showKnownSeries } from './known-series.ts';
import { anonymousWindow } from './limits/setting-fields.ts';
import type { Metrics } from './observability/metrics.ts';
import type { LogRequest } from './observability/request-log.ts';
import type { RequestSpans } from './observability/request-spans.ts';
import { anonymousPlan } from './plans/plan-settings.ts';
import { createPortal, createPortalConnection } from './portal/portal.ts';
import { createAddressLimit } from './quota/address-limit.ts';
import { createQuota, type Quota } from './quota/quota.ts';
import {
  addressLimitHeaders,
  connectionLimitHeaders,
  type RateLimitHeaders,
} from './quota/rate-limit-headers.ts';
import { createUsageLookup } from './quota/usage-lookup.ts';
import type { RedisState } from './redis-state.ts';
import { defaultPortalColor } from './services/services-file-schema.ts';
import type { ServiceUpstream } from './upstream/service-upstream.ts';

export interface GatewayDependencies extends RedisState {
  services: readonly ServiceConfig[];
  /** What is said of the API as a whole. */
  api: ApiConfig;
  /** Where the requests to each of the services go, in the same order. */
  upstreams: readonly ServiceUpstream[];
  redisUrl: string;
  /** Whether the gateway runs this Redis itself. */
  redisIsPrivate: boolean;
  /** Addresses and networks of trusted proxies, in proxy-addr's notation. */
  trustProxy: string[];
  /** Where clients see the gateway; undefined: the scheme and Host of each request. */
  publicUrl: string | undefined;
  supportUrl: string | undefined;
  /** Origins of other sites whose pages may use the API. */
  corsOrigins: readonly string[] | '*';
  log: Logger;
  logRequest: LogRequest;
  metrics: Metrics;
  /** Undefined if no traces are exported. */
  spans: RequestSpans | undefined;
  now: () => number;
}

export interface Gateway {
  /** Handles a request: normalizes its target, and then Express runs all steps. */
  app: RequestListener;
  /** Classes for the HTTP server's requests and responses. */
  messageClasses: MessageClasses;
  /** Whether a request becomes a WebSocket. */
  isUpgrade(req: IncomingMessage): boolean;
  /** Ends all WebSockets, since the process ends. */
  closeWebSockets(): void;
  /** What the operations ask of keys. */
  access(): ApiDescription['access'];
  /** All methods of the API. */
  allow(): readonly string[];
  /** Whether an address belongs to a trusted proxy. */
  isProxy(address: string): boolean;
  /** Charges an address for something that became no request. @returns headers for the response to it */
  chargeAddress(address: string, error: GatewayError): Promise<RateLimitHeaders>;
  /** Logs and counts the response to it. */
  recordRawResponse(error: GatewayError, address: string, requestId: string): void;
  /** Headers with which a page of an origin may read a response. */
  originHeaders(origin: string | undefined): Readonly<Record<string, string>>;
  close(): void;
}

/** The gateway as a whole. Opens no socket: server.ts listens. */
export function createGateway(dependencies: GatewayDependencies): Gateway {
  const { services, supportUrl, publicUrl, log, metrics, now } = dependencies;
  const api = loadApiDescription(supportUrl, services, dependencies.api);
  assertPublicUrl(publicUrl, api.basePaths);
  showKnownSeries(metrics, api);
  const parts = createParts(dependencies, api);
  const { addressLimit, isProxy, portalConnection } = parts;
  const app = createApp(isProxy);
  addJourney(app, parts);
  const checks = setInterval(() => void parts.webSockets.closeUnless(isServed(parts)), webSocketCheckMs);

  return {
    app(req, res) {
      // Before Express, whose router reads the target first and must not see it change.
      normalizeTarget(req);
      // No request after an ambiguous one is served: its beginning is uncertain.
      if (findAmbiguity(req) !== undefined) res.shouldKeepAlive = false;
      app(req, res);
    },
    messageClasses: createMessageClasses(app),
    access: () => api.access,
    allow: () => api.everything.allow,
    isProxy,
    isUpgrade: (req) =>
      asksForWebSocket(req) && api.match((req.url ?? '').split('?')[0] ?? '')?.service?.upgrade === true,
    closeWebSockets: parts.webSockets.closeAll,
    close() {
      clearInterval(checks);
      portalConnection.close();
    },
    recordRawResponse: (...response) => recordRawResponse({ log, metrics }, ...response),
    originHeaders: createOriginHeaders(dependencies.corsOrigins),
    async chargeAddress(address, { code, headers }) {
      const { window } = await addressLimit.charge(address);
      if (code !== 'rate_limit_exceeded') return addressLimitHeaders(window, now());
      return connectionLimitHeaders(window, Number(headers['Retry-After']) * 1000, now());
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
  const { upstreams, api, docs, portal, keyHeader, webSockets } = parts;
  const { plans, addressLimit, refuseAnonymous, log, now } = parts;
  const { apiKeys, quota, busyCustomers, keyUse, usageReports, usageTotals } = parts;
  const { lookUpUsage, publicAddress, isProxy } = parts;
  const { corsOrigins, spans, logRequest, metrics, failures } = parts;
  const { basePath, basePaths } = api;
  const decides = { apiKeys, quota, refuseAnonymous };
  const counts = { busyCustomers, keyUse, usageReports, usageTotals };

  // Order matters: each step may rely on every step above it. One route, since Express matches a path for each app.use.
  app
    .route(/^/)
    .all(
      assignRequestId(),
      setSecurityHeaders(),
      matchRoute(api, docs, portal),
      traceRequest({ spans, isProxy }),
      recordAccess({ logRequest, metrics, failures, docs }),
      ...allowOrigins({ corsOrigins, api, publicAddress }),
      outsidePath(basePaths, serveDescription(api, publicAddress), serveDocs(docs, api), servePortal(portal)),
      answerOptions({ api, addressLimit, now }),
      underPath(basePaths, authenticate({ apiKeys, refuseAnonymous, addressLimit, keyHeader })),
      answerUsage({ path: `${basePath}/usage`, apiKeys, lookUpUsage, refuseAnonymous }),
      underPath(basePaths, enforceQuota({ ...decides, ...counts, metrics, plans })),
      rejectMalformed(basePaths),
      rejectUnknownRoute(),
      receiveBody(parts),
      proxyToService({ upstreams, isProxy, publicAddress, keyHeader, webSockets, spans }),
    );
  const giveBack = createGiveBack({ quota, usageTotals });
  app.use(renderError({ publicAddress, basePaths, addressLimit, giveBack, log, now }));
  app.use(renderFallback({ log }));
}

function createParts(dependencies: GatewayDependencies, api: ApiDescription) {
  const { redis, gate, plans, spans, publicUrl, log, metrics, now } = dependencies;
  const apiKeys = createApiKeyCache(dependencies);
  const { decide, giveBack } = createQuota({
    ...dependencies,
    onLocalDecision: (plan) => metrics.localDecisions.inc({ plan }),
  });
  const quota: Quota = {
    decide: spans === undefined ? decide : (...args) => spans.traceDecision(() => decide(...args)),
    giveBack,
  };
  const addressLimit = createAddressLimit({ redis, gate, limit: plans.anonymousMinute });
  const isProxy = createIsProxy(dependencies.trustProxy);
  const publicAddress = createPublicAddress({ publicUrl, isProxy });
  const portalConnection = createPortalConnection(dependencies);
  return {
    ...dependencies,
    api,
    keyHeader: dependencies.api.keyHeader,
    docs: loadDocs(api, publicUrl, dependencies.api),
    portal: createPortal({
      connection: portalConnection,
      publicAddress,
      addressLimit,
      scopes: api.access.scopes,
      look: lookOf(api, dependencies.api, dependencies),
      log,
    }),
    apiKeys,
    quota,
    addressLimit,
    refuseAnonymous: createRefuseAnonymous({
      addressLimit,
      metrics,
      limit: { plan: anonymousPlan, window: anonymousWindow },
      now,
    }),
    lookUpUsage: createUsageLookup(dependencies),
    takeLargeBodySlot: createLargeBodySlots(),
    webSockets: createWebSockets<Caller>(),
    portalConnection,
    isProxy,
    publicAddress,
  };
}

type Parts = ReturnType<typeof createParts>;

function lookOf(
  { document }: ApiDescription,
  { portal = {} }: ApiConfig,
  { supportUrl }: GatewayDependencies,
) {
  const { title = document.title, color = defaultPortalColor } = portal;
  return { title, color, supportUrl };
}

function createApp(isProxy: (address: string) => boolean): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
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
