import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';
import { awaitsContinue, countedBody, hasBody } from './request-body.ts';

/** What nearly every body is smaller than. */
const smallBodyBytes = 16 * 1024;
/** Larger bodies that are on their way at once. Bounds the memory that they take to 64 MiB. */
const maxLargeBodies = 64;

/**
 * Waits until a body is here as a whole. Passed on while it comes in, it would occupy a connection to the upstream
 * for as long as its client likes: a few hundred that take their time would leave none for others.
 */
export function holdBody(): RequestHandler {
  let largeBodies = 0;

  return function holdBody(req, res, next) {
    if (!carriesBody(req)) return next();
    if (awaitsContinue(req)) res.writeContinue();
    const body = countedBody(req);
    let bytes = 0;
    let large = false;
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (large || bytes <= smallBodyBytes || body.destroyed) return;
      if (largeBodies >= maxLargeBodies) {
        body.destroy(tooManyLargeBodies());
        return;
      }
      large = true;
      largeBodies += 1;
    });
    body.once('close', () => {
      if (large) largeBodies -= 1;
    });
    res.once('close', () => body.destroy());
    body.once('error', next);
    // The body's end is for whoever reads it; that all of it is here shows at the side that is written to.
    body.once('finish', () => {
      body.off('error', next);
      next();
    });
  };
}

/** A body has no meaning with GET and HEAD (RFC 9110 section 9.3.1): it is dropped and not passed on. */
function carriesBody(req: IncomingMessage): boolean {
  return hasBody(req) && req.method !== 'GET' && req.method !== 'HEAD';
}

function tooManyLargeBodies(): GatewayError {
  return new GatewayError('service_unavailable', {
    message: 'The gateway is receiving too many large bodies at once. Retry shortly.',
    headers: { 'Retry-After': '1' },
  });
}
