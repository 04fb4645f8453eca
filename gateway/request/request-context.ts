import type { Readable } from 'node:stream';
import type { Span } from '@opentelemetry/api';
import type { Request, Response } from 'express';
import type { ErrorCode } from '../errors.ts';
import type { Caller, EndedKey } from '../keys/api-key-cache.ts';
import type { WindowName } from '../limits/windows.ts';
import type { ResponseHeaders } from '../platform/http/response-headers.ts';
import { asksForWebSocket } from '../platform/http/websocket.ts';
import type { Allowed, QuotaDecision } from '../quota/quota-decision.ts';
import type { ApiRoute } from '../upstream/routes.ts';
import type { Transport } from '../upstream/transport.ts';

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
