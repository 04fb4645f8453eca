import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { holdsApiKey } from '../http/holds-api-key.ts';
import { ResponseHeaders } from '../http/response-headers.ts';

const wellFormed = /^[A-Za-z0-9._-]{1,128}$/;

/** Names the request in logs, upstream and in the response. A client's own X-Request-Id is kept if it is well-formed. */
export function assignRequestId(): RequestHandler {
  return function assignRequestId(req, res, next) {
    const offered = req.headers['x-request-id'];
    const requestId = isRequestId(offered) ? offered : randomUUID();
    res.locals = { requestId, headers: new ResponseHeaders(['X-Request-Id', requestId]) };
    next();
  };
}

function isRequestId(offered: string | string[] | undefined): offered is string {
  return typeof offered === 'string' && wellFormed.test(offered) && !holdsApiKey(offered);
}
