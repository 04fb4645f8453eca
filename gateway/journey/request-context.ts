import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import type { ApiRoute } from '../api-description.ts';
import type { Caller } from '../api-keys/api-key-cache.ts';
import type { ErrorCode } from '../errors.ts';
import type { ResponseHeaders } from '../http/response-headers.ts';
import type { QuotaDecision } from '../quota/quota-decision.ts';

declare module 'express-serve-static-core' {
  /** What the steps of the journey tell those that follow. */
  interface Locals {
    requestId: string;
    /** Headers of the answer, whichever step makes it. */
    headers: ResponseHeaders;
    /** Set by authenticate. */
    caller?: Caller;
    /**
     * What was decided about the quota, for the access log:
     * - allowed, limited, banned: of a valid key
     * - unauthenticated: no valid key; address_limited: too often from this address
     * - undecided: nobody could tell whether the key is valid
     * - free: costs no quota
     */
    decision?: QuotaDecision['outcome'] | 'unauthenticated' | 'address_limited' | 'undecided' | 'free';
    /** Undefined for a path that the API does not have. Its pattern is logged, never the path itself. */
    route?: ApiRoute | undefined;
    /** The request's body, where it has one that is passed on. Set by holdBody. */
    body?: Buffer;
    /** Code of the error that was answered. */
    errorCode?: ErrorCode;
    /** Milliseconds from sending the request upstream to the end of its answer. */
    upstreamMs?: number;
  }
}

/** Address of the peer that the connection is from. An IPv4 one that came in over IPv6 is written as IPv4. */
export function peerAddress({ socket }: Pick<IncomingMessage, 'socket'>): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
}

/** Address of the client, as far as trusted proxies can vouch for it. */
export function clientAddress(req: Request): string {
  return req.ip ?? '';
}
