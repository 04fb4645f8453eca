import express from 'express';
import type { KeyObject } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { compile as compileTrust } from 'proxy-addr';
import type { Dispatcher } from 'undici';
import { recordAccess, recordRawAnswer } from './access-log.ts';
import { createAnonymousLimit } from './api-keys/anonymous-limit.ts';
import { answerOptions, serveDescription } from './answer-without-key.ts';
import { answerUsage } from './answer-usage.ts';
import { createApiKeys } from './api-keys/api-keys.ts';
import { loadApiDescription } from './api-routes.ts';
import { authenticate } from './api-keys/authenticate.ts';
import { enforceQuota } from './quota/enforce-quota.ts';
import { renderError, renderFallback } from './error-handler.ts';
import type { GatewayError } from './errors.ts';
import { createMintToken } from './upstream/internal-token.ts';
import { ambiguityOf } from './http/ambiguous-request.ts';
import type { MakeCounts } from './http/counts.ts';
import { holdBody } from './http/hold-body.ts';
import { createMessageClasses, type MessageClasses } from './http/message-classes.ts';
import { below, inOrder } from './in-order.ts';
import type { LogRequest } from './log.ts';
import type { Metrics } from './metrics.ts';
import { normalizeTarget } from './http/normalize-target.ts';
import { proxyToPets } from './upstream/pets-proxy.ts';
import { createQuota } from './quota/quota.ts';
import { addressLimitHeaders, type RateLimitHeaders } from './quota/rate-limit-headers.ts';
import type { RedisState } from './redis-state.ts';
import { createRefuseAnonymous } from './api-keys/refuse-anonymous.ts';
import { matchRoute, rejectLargeBody, rejectMalformed, rejectUnknownRoute } from './reject-request.ts';
import type { Upstreams } from './upstream/upstreams.ts';
import { createUsageLookup } from './quota/usage-lookup.ts';
import { assignRequestId } from './request-id.ts';
import { setSecurityHeaders } from './security-headers.ts';

export interface GatewayDependencies extends RedisState {
  dispatcher: Dispatcher;
  upstreams: Upstreams;
  upstreamTimeoutMs: number;
  privateKey: KeyObject;
  /** Addresses and networks of our own proxies, as proxy-addr writes them. */
  trustProxy: string[];
  /** For what the limits of the whole gateway count. */
  makeCounts: MakeCounts;
  log: Logger;
  logRequest: LogRequest;
  metrics: Metrics;
  now: () => number;
}

export interface Gateway {
  /** Handles a request: the first step, then Express with all others. */
  app: RequestListener;
  /** What its requests and their answers are to be made of. */
  messageClasses: MessageClasses;
  /** Methods that there are somewhere. */
  allow: readonly string[];
  /** Whether an address is that of one of our own proxies. */
  isProxy(address: string): boolean;
  /** Charges an address for something that never became a request, and returns the headers of the answer. */
  chargeAddress(address: string): Promise<RateLimitHeaders>;
  /** Logs and counts the answer to it. */
  recordRawAnswer(error: GatewayError, address: string): void;
}

/** The journey of a request, from top to bottom. Opens no socket: server.ts listens. */
export function createGateway(dependencies: GatewayDependencies): Gateway {
  const { redis, gate, plans, busyKeys, faults, log, metrics, now } = dependencies;
  const api = loadApiDescription();
  const { basePath } = api;
  const apiKeys = createApiKeys({ redis, gate, faults, plans, now });
  const quota = createQuota({
    ...dependencies,
    onLocalDecision: (plan) => metrics.localDecisions.inc({ plan }),
  });
  const anonymousLimit = createAnonymousLimit({ redis, gate, limit: plans.anonymousMinute });
  const refuseAnonymous = createRefuseAnonymous({ anonymousLimit, now });
  const lookUpUsage = createUsageLookup(dependencies);
  const mintToken = createMintToken(dependencies.privateKey, now);

  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  const trustsPeer = compileTrust(dependencies.trustProxy);
  app.set('trust proxy', trustsPeer);

  // Order matters: each step may rely on every step above it.
  app.use(
    inOrder(
      assignRequestId(),
      setSecurityHeaders(),
      matchRoute(api),
      recordAccess(dependencies),
      serveDescription(api),
      answerOptions({ api, anonymousLimit, now }),
      below(basePath, authenticate({ apiKeys, refuseAnonymous })),
      answerUsage({ path: `${basePath}/usage`, apiKeys, lookUpUsage, refuseAnonymous }),
      below(basePath, enforceQuota({ apiKeys, quota, refuseAnonymous, busyKeys, metrics })),
      rejectMalformed(),
      rejectUnknownRoute(),
      rejectLargeBody(),
      holdBody(dependencies.makeCounts),
      proxyToPets({ ...dependencies, mintToken, trustsPeer }),
    ),
  );
  app.use(renderError({ basePath, anonymousLimit, log, now }));
  app.use(renderFallback({ log }));

  return {
    app(req, res) {
      // Before Express, whose router takes down the target at the start and is confused by a change of it.
      normalizeTarget(req);
      // Nothing after it is served: what it would be is uncertain.
      if (ambiguityOf(req) !== undefined) res.shouldKeepAlive = false;
      app(req, res);
    },
    messageClasses: createMessageClasses(app),
    allow: api.everything.allow,
    isProxy: (address) => trustsPeer(address, 0),
    recordRawAnswer: (error, address) => recordRawAnswer({ log, metrics }, error, address),
    async chargeAddress(address) {
      const { window } = await anonymousLimit.charge(address);
      return addressLimitHeaders(window, now());
    },
  };
}
