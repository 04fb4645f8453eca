import type { RequestHandler } from 'express';

/** Headers of every response: it must not be stored, and has the type that it says. The gateway sets its own. */
export const securityHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const;

const entries = Object.entries(securityHeaders);

export function setSecurityHeaders(): RequestHandler {
  return function setSecurityHeaders(_req, res, next) {
    for (const [name, value] of entries) res.setHeader(name, value);
    next();
  };
}
