import { Readable } from 'node:stream';
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.ts';
import { defaultMaxBodyBytes } from '../platform/config/service-config.ts';
import type { PublicAddress } from '../platform/http/addresses.ts';
import { awaitsContinue, hasBody } from '../platform/http/request.ts';
import { beginJson, endOnceRead, helpLink, ResponseHeaders, sendJson } from '../platform/http/response.ts';
import { nameWrongType, UnexpectedValue } from '../platform/redis/redis-errors.ts';
import type { AddressLimit } from '../quota/address-limit.ts';
import { addressLimitHeaders } from '../quota/rate-limit-headers.ts';
import { clientAddress } from './begin.ts';
import type { GiveBack } from './enforce-quota.ts';

interface RenderErrorDependencies {
  publicAddress: Pick<PublicAddress, 'baseUrl'>;
  addressLimit: AddressLimit;
  giveBack: GiveBack;
  log: Logger;
  now: () => number;
}

/** Statuses with which the gateway says that the client gets no response of the service, which then costs nothing. */
const freeStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Renders every refusal and every unexpected error in the Error shape of the specification, section 2.5. */
export function renderError(dependencies: RenderErrorDependencies): ErrorRequestHandler {
  const { publicAddress, addressLimit, giveBack, log, now } = dependencies;
  return async function renderError(thrown, req, res, _next) {
    const error = toGatewayError(thrown);
    logCause(error, res);
    res.locals.errorCode = error.code;
    // There may have been no decision.
    res.locals.onDecision?.();
    if (res.headersSent) {
      res.destroy();
      return;
    }
    const { headers, isOfApi } = res.locals;
    if (freeStatuses.has(error.status)) await giveBack(res);
    headers.setAll(error.headers);
    headers.append('Link', helpLink(error.code, publicAddress.baseUrl(req)));
    if (isOfApi && !headers.has('X-RateLimit-Limit')) {
      headers.setAll(addressLimitHeaders(await addressLimit.peek(clientAddress(req)), now()));
    }
    sendError(req, res, error);
  };

  function logCause(error: GatewayError, res: Response): void {
    const { requestId } = res.locals;
    if (error.code === 'internal_error') log.error({ requestId, err: error.cause }, 'unexpected error');
    // An error without a cause has nothing to add to the access log.
    else if (error.status >= 500 && error.cause !== undefined) {
      log.warn({ requestId, code: error.code, err: error.cause }, error.message);
    }
  }
}

/**
 * Responds if renderError itself fails: Express' own last handler would send an HTML page with the error and its stack.
 */
export function renderFallback({ log }: { log: Logger }): ErrorRequestHandler {
  return function renderFallback(thrown, _req, res, _next) {
    log.error({ err: thrown }, 'an error could not be rendered; the client gets a bare internal_error');
    if (res.headersSent) {
      res.destroy();
      return;
    }
    const { status, body } = new GatewayError('internal_error');
    sendJson(res, status, new ResponseHeaders(), JSON.stringify(body));
  };
}

function sendError(req: Request, res: Response, error: GatewayError): void {
  const body = JSON.stringify(error.body);
  const { headers, body: received } = res.locals;
  // A stream that nobody reads any more would pause the request, whose rest is to be read.
  if (received instanceof Readable) received.destroy();
  if (req.complete || !hasBody(req) || isShortRest(req)) {
    sendJson(res, error.status, headers, body);
    return;
  }
  res.shouldKeepAlive = false;
  headers.set('Connection', 'close');
  res.write(beginJson(res, error.status, headers, body));
  endOnceRead(req, res);
}

/** Node itself reads and drops a short rest of a body, and the connection stays usable. */
function isShortRest(req: Request): boolean {
  return !awaitsContinue(req) && Number(req.headers['content-length'] ?? Number.NaN) <= defaultMaxBodyBytes;
}

/** What is wrong in Redis is for operators, and anything but an expected refusal is a bug: its detail is logged and never sent. */
function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const cause = nameWrongType(thrown);
  return new GatewayError(cause instanceof UnexpectedValue ? 'service_unavailable' : 'internal_error', {
    cause,
  });
}
