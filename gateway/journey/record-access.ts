import type { RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { GatewayError } from '../errors.ts';
import { addressGroup } from '../http/address-group.ts';
import type { LogRequest } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { clientAddress } from './request-context.ts';

/** One line and one count for each request, when its response is finished or cut off. Never a key, token or body. */
export function recordAccess({
  logRequest,
  metrics,
}: {
  logRequest: LogRequest;
  metrics: Metrics;
}): RequestHandler {
  return function recordAccess(req, res, next) {
    const startedAt = performance.now();
    const { method, socket } = req;
    // Requests of one connection are served one after another, so all it writes until the end is this answer.
    const bytesBefore = socket.bytesWritten;
    res.on('close', () => {
      const { requestId, caller, decision, errorCode, upstreamMs } = res.locals;
      const route = res.locals.route?.pattern ?? 'unmatched';
      const status = res.headersSent ? res.statusCode : clientClosedRequest;
      const durationMs = performance.now() - startedAt;
      const countedMethod = knownMethods.has(method) ? method : 'other';
      metrics.requests.count(route, countedMethod, outcomeOf(res), caller?.plan ?? 'none');
      metrics.requests.observe(route, countedMethod, durationMs / 1000);
      if (upstreamMs !== undefined) metrics.upstreamSeconds.add(upstreamMs / 1000);
      if (errorCode !== undefined) metrics.errors.inc({ code: errorCode });
      logRequest({
        requestId,
        method,
        route,
        status,
        keyId: caller?.id,
        // Who floods us without a key is known by nothing else.
        address: caller === undefined ? addressGroup(clientAddress(req)) : undefined,
        plan: caller?.plan,
        decision,
        code: errorCode,
        bytes: socket.bytesWritten - bytesBefore,
        durationMs: round(durationMs),
        upstreamMs: upstreamMs === undefined ? undefined : round(upstreamMs),
        cutOff: res.writableFinished ? undefined : true,
      });
    });
    next();
  };
}

/** The same for an answer to something that never became a request. */
export function recordRawAnswer(
  { log, metrics }: { log: Logger; metrics: Metrics },
  error: GatewayError,
  address: string,
): void {
  const { code, status } = error;
  metrics.requests.count('none', 'other', classOf(status), 'none');
  metrics.errors.inc({ code });
  log.info({ status, code, address: addressGroup(address) }, 'not a request');
}

/** In logs and metrics alone: the client went away before it was answered. The number is nginx's. */
const clientClosedRequest = 499;

/** A client may invent methods, and a metric must not grow with them. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Class of the status; or aborted by the client, or cut off by us, since what was behind us broke off. */
function outcomeOf(res: Response): string {
  if (res.writableFinished) return classOf(res.statusCode);
  return res.locals.errorCode === undefined ? 'aborted' : 'cut_off';
}

function classOf(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
