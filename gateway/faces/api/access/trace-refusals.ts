import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { isAboutAccess, type ApiError } from '../api-error.ts';
import { isReading } from './is-reading.ts';
import type { SessionCookie } from './session-cookie.ts';

interface RefusalTraceDependencies {
  cookie: SessionCookie;
  clientAddress: (req: Request) => string;
  log: Logger;
}

const [maxAddresses, everyMs] = [1000, 60_000];

/**
 * Creates the trace of failed sign-ins and of requests that a person must not make: once a minute for each address and
 * code a line in the log, without the path, which may hold an API key.
 */
export function createRefusalTrace({ cookie, clientAddress, log }: RefusalTraceDependencies) {
  const logged = new LRUCache<string, true>({ max: maxAddresses, ttl: everyMs });
  return function traceRefusal(req: Request, { code, status }: ApiError): void {
    if (!isAboutAccess(status)) return;
    // The page asks so whether somebody is signed in.
    if (req.path === '/session' && isReading(req) && cookie.read(req).length === 0) return;
    const address = clientAddress(req);
    const subject = `${code} ${address}`;
    if (logged.has(subject)) return;
    logged.set(subject, true);
    log.warn({ address, code }, 'the console has refused a request');
  };
}
