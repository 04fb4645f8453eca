import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Span } from '@opentelemetry/api';
import type { Request, RequestHandler, Response } from 'express';
import type { ErrorCode } from '../errors.ts';
import type { Caller, EndedKey } from '../keys/api-key-cache.ts';
import type { WindowName } from '../limits/windows.ts';
import { addressGroup, holdsApiKey, peerAddress } from '../platform/http/addresses.ts';
import { ResponseHeaders, securityHeaders } from '../platform/http/response.ts';
import { asksForWebSocket } from '../platform/http/websocket.ts';
import type { RequestSpans } from '../platform/observability/tracing.ts';
import type { Allowed, QuotaDecision } from '../quota/quota-decision.ts';
import type { ApiDescription } from '../upstream/api-description.ts';
import { isUnder, type ApiRoute } from '../upstream/routes.ts';
import type { Transport } from '../upstream/transport.ts';

/** What is served beside the API on its port, such as the documentation. Needs no API key, and costs no quota. */
export interface Neighbour {
  /** Finds the route of a path without query. */
  match(path: string): ApiRoute | undefined;
  /** Serves a request of a route, which may come with any method that the route allows but OPTIONS. */
  serve: RequestHandler;
  close?(): void;
}

interface BeginDependencies {
  api: Pick<ApiDescription, 'basePaths' | 'everything' | 'match'>;
  neighbours: readonly Neighbour[];
  /** Undefined if no traces are exported. */
  spans: RequestSpans | undefined;
  /** Whether an address belongs to a trusted proxy. */
  isProxy: (address: string) => boolean;
}

const wellFormedId = /^[A-Za-z0-9._-]{1,128}$/;

/** Of this process. The rest of a request's id counts: a random id for each is a hundredth of a request's CPU time. */
const idPrefix = randomUUID().slice(0, 24);
let lastId = 0;

/** @returns an id that no other request has, in the form of a UUID */
function newRequestId(): string {
  lastId += 1;
  return idPrefix + lastId.toString(16).padStart(12, '0');
}

/** Names and values in turn. */
const rawSecurityHeaders = Object.entries(securityHeaders).flat();

/** A year, for this host only: other services of the domain decide for themselves. */
const httpsOnly = 'max-age=31536000';

/**
 * Names the request in logs, upstream and in the response, begins the headers of the response and the span, and finds the
 * route: refusals are counted by route, too.
 */
export function begin({ api, neighbours, spans, isProxy }: BeginDependencies): RequestHandler {
  const matchNeighbour = (path: string) =>
    neighbours
      .values()
      .map((neighbour) => neighbour.match(path))
      .find((route) => route !== undefined);
  return function begin(req, res, next) {
    const offered = req.headers['x-request-id'];
    // A client's own is kept if it is well-formed.
    const requestId = isRequestId(offered) ? offered : newRequestId();
    const headers = new ResponseHeaders(['X-Request-Id', requestId, ...rawSecurityHeaders]);
    // Has no meaning over plain HTTP (RFC 6797 section 7.2). A trusted proxy, which ends TLS, says whether it is HTTPS.
    if (req.secure) headers.set('Strict-Transport-Security', httpsOnly);
    const { path } = req;
    // "OPTIONS *" asks about the server as a whole (RFC 9110 section 9.3.7).
    const route = req.url === '*' ? api.everything : (api.match(path) ?? matchNeighbour(path));
    res.locals = { requestId, headers, isOfApi: isUnder(api.basePaths, path), route };
    if (spans === undefined) return next();
    const span = spans.startRequest({
      req,
      route: route?.pattern,
      service: route?.service?.name,
      scheme: req.protocol,
      requestId,
      clientAddress: addressGroup(clientAddress(req)),
      peerIsTrusted: isProxy(peerAddress(req)),
    });
    res.locals.span = span;
    res.on('close', () => spans.endRequest(span, res, res.locals));
    spans.run(span, next);
  };
}

function isRequestId(offered: string | string[] | undefined): offered is string {
  return typeof offered === 'string' && wellFormedId.test(offered) && !holdsApiKey(offered);
}

type Decision = QuotaDecision['outcome'] | 'unauthenticated' | 'address_limited' | 'undecided' | 'free';

declare module 'express-serve-static-core' {
  /** Values that steps of the journey pass on to later steps. */
  interface Locals {
    requestId: string;
    /** Headers of the response, whichever step sends it. */
    headers: ResponseHeaders;
    /** Server span of the request, if traces are exported. Set by begin. */
    span?: Span;
    /** Set by clientAddress. */
    clientAddress?: string;
    /** Whether the path is under one of the API's, where a key is asked for. */
    isOfApi: boolean;
    /** Whether a page of another site sends the request. Set by allowOrigins. */
    isFromOtherSite?: boolean;
    /** Set by authenticate. */
    caller?: Caller;
    /** The request's key, if it was revoked or has expired. */
    endedKey?: EndedKey;
    /**
     * Decision on the quota, for the access log:
     * - allowed, limited, banned: for a valid key
     * - unauthenticated: no valid key; address_limited: too many such requests from this address
     * - undecided: it is unknown whether the key is valid
     * - free: costs no quota
     */
    decision?: Decision;
    /** Window of a shadow limit that the request is above. */
    shadow?: WindowName | undefined;
    /** Called when the decision is known. Set by recordAccess if the client has left before. */
    onDecision?: () => void;
    /** Undefined for a path that the API does not have. Logs contain its pattern, and never the path itself. */
    route?: ApiRoute | undefined;
    /**
     * What the request has cost its caller. Not a function that gives it back: V8 kept each request that had one until the next major
     * collection, and a request took a fifth more CPU time.
     */
    charged?: { cost: number; decision: Allowed };
    /** The request's body, if it has one that is forwarded; a stream if it is still arriving. Set by receive. */
    body?: Buffer | Readable;
    /** Sends the request to the service of its route. Set by proxyToService. */
    transport?: Transport<Request, Response> | undefined;
    /** Code of the error that was sent. */
    errorCode?: ErrorCode;
    /** The same if the service sent it. */
    serviceErrorCode?: string;
    /** Milliseconds from sending the request upstream to its outcome. */
    upstreamMs?: number;
    /** Whether the response is an event stream. */
    isEventStream?: boolean;
    /** Status of the upstream's response, if it has begun. */
    upstreamStatus?: number | undefined;
  }
}

/** Whether the request becomes a WebSocket. */
export function isUpgrade(req: Request, { route }: { route?: ApiRoute | undefined }): boolean {
  return route?.service?.upgrade === true && asksForWebSocket(req);
}

/** Sets the decision on the quota. */
export function setDecision({ locals }: Response, decision: Decision): void {
  locals.decision = decision;
  locals.onDecision?.();
}

/** Address of the client, as far as trusted proxies report it. Express works it out from the headers at each read. */
export function clientAddress(req: Request): string {
  const { locals } = req.res ?? {};
  if (locals === undefined) return req.ip ?? '';
  locals.clientAddress ??= req.ip ?? '';
  return locals.clientAddress;
}

/** Whether a page of another site uses a key that may call everything: whoever opens the page can copy the key. */
export function isUnrestrictedInPage(locals: { isFromOtherSite?: boolean }, { scopes }: Caller): boolean {
  return locals.isFromOtherSite === true && scopes === undefined;
}

/** The caller that authenticate found. For steps that come after it. */
export function callerOf(locals: { caller?: Caller }): Caller {
  if (locals.caller === undefined) throw new Error('authenticate has not run before this step');
  return locals.caller;
}
