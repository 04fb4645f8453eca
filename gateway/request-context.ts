import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import type { Caller } from './api-keys/api-keys.ts';
import type { ErrorCode } from './errors.ts';
import type { QuotaDecision } from './quota/quota-decision.ts';

declare module 'express-serve-static-core' {
  /** What the steps of the journey tell those that follow. */
  interface Locals {
    requestId: string;
    /** Set by authenticate. */
    caller?: Caller;
    /** Set by enforceQuota. */
    decision?: QuotaDecision['outcome'] | 'anonymous';
    /** Path pattern of the operation, such as /v1/pets/{petId}; never the path itself. */
    route?: string;
    /** Code of the error that was answered. */
    errorCode?: ErrorCode;
    /** Milliseconds from sending the request upstream to the end of its answer. */
    upstreamMs?: number;
  }
}

/** Address of the peer that the connection is from. An IPv4 one that came in over IPv6 is written as IPv4. */
export function peerAddress(req: IncomingMessage): string {
  return (req.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
}

/** Address of the client, as far as trusted proxies can vouch for it. */
export function clientAddress(req: Request): string {
  return req.ip ?? '';
}
