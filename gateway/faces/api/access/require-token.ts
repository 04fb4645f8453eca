import type { Request, RequestHandler } from 'express';
import { findApiToken } from '../../../control/access/api-tokens.ts';
import type { RouteApi } from '../route.ts';
import { setCaller } from './caller.ts';
import { createMinuteLimit } from './minute-limit.ts';

interface RequireTokenDependencies extends Pick<RouteApi, 'read'> {
  refuseSecret(req: Request, code: 'invalid_token'): Promise<never>;
}

/** Requests a minute of a token, at each gateway: the process may serve clients as well. */
export const maxTokenRequests = 600;

/** RFC 6750 section 2.1. */
const bearer = /^Bearer +(\S+)$/i;

/** Whether a request has a token, valid or not. A proxy that asks for a password passes on another scheme. */
export const hasToken = ({ headers }: Pick<Request, 'headers'>) =>
  /^Bearer\b/i.test(headers.authorization ?? '');

/**
 * Refuses a request without a valid token, and one of a token that sends too many. The token is looked up in Redis at each
 * request, so that one that was revoked is over at once.
 */
export function requireToken({ read, refuseSecret }: RequireTokenDependencies): RequestHandler {
  const chargeRequest = createMinuteLimit(maxTokenRequests, 'The token has sent too many requests');
  return async function requireToken(req, _res, next) {
    const [, secret = ''] = bearer.exec(req.headers.authorization ?? '') ?? [];
    const token = await read((session) => findApiToken(session, secret));
    if (token === undefined) return refuseSecret(req, 'invalid_token');
    const { id, name, scopes } = token;
    await chargeRequest(id);
    // The id tells tokens of the same name apart, such as one and the next.
    setCaller(req, { who: name === null ? id : `${name} (${id})`, secret, scopes });
    next();
  };
}
