import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';

declare module 'express-serve-static-core' {
  interface Locals {
    /** Names the request in the log and in the response. */
    requestId: string;
  }
}

/** The form of the gateway's request ids. Anything else could be an attempt to write into the log. */
const wellFormed = /^[A-Za-z0-9._-]{1,128}$/;

/** Keeps the X-Request-Id of a caller if it is well-formed, and makes one otherwise. */
export function assignRequestId(): RequestHandler {
  return function assignRequestId(req, res, next) {
    const offered = req.headers['x-request-id'];
    const requestId = typeof offered === 'string' && wellFormed.test(offered) ? offered : randomUUID();
    res.locals.requestId = requestId;
    res.setHeader('X-Request-Id', requestId);
    next();
  };
}
