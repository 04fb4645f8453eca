import type { KeyObject } from 'node:crypto';
import type { RequestListener } from 'node:http';
import express from 'express';
import type { Logger } from 'pino';
import { compile as compileTrust } from 'proxy-addr';
import type { Dispatcher } from 'undici';
import { loadApiDescription } from './api-description.ts';
import { createApiKeys } from './api-keys/api-key-cache.ts';
import type { GatewayError } from './errors.ts';
import { ambiguityOf } from './http/ambiguous-request.ts';
import type { MakeCounts } from './http/in-use-counters.ts';
import { createMessageClasses, type MessageClasses } from './http/message-classes.ts';
import { normalizeTarget } from './http/normalize-target.ts';
import { setSecurityHeaders } from './http/security-headers.ts';
import { answerUsage } from './journey/answer-usage.ts';
import { answerOptions, serveDescription } from './journey/answer-without-key.ts';
import { assignRequestId } from './journey/assign-request-id.ts';
import { authenticate } from './journey/authenticate.ts';
import { holdBody } from './journey/buffer-body.ts';
import { below, inOrder } from './journey/compose.ts';
import { enforceQuota } from './journey/enforce-quota.ts';
import { proxyToPets } from './journey/proxy-to-pets.ts';
import { recordAccess, recordRawAnswer } from './journey/record-access.ts';
import { createRefuseAnonymous } from './journey/refuse-anonymous.ts';
import {
  matchRoute,
  rejectLargeBody,
  rejectMalformed,
  rejectUnknownRoute,
} from './journey/reject-request.ts';
import { renderError, renderFallback } from './journey/render-error.ts';
import type { LogRequest } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';
import { createAnonymousLimit } from './quota/address-limit.ts';
import { createQuota } from './quota/quota.ts';
import { addressLimitHeaders, type RateLimitHeaders } from './quota/rate-limit-headers.ts';
import { createUsageLookup } from './quota/usage-lookup.ts';
import type { RedisState } from './redis-state.ts';
import { createMintToken } from './upstream/internal-token.ts';
import type { Upstreams } from './upstream/upstreams.ts';

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
