import type { RequestHandler } from 'express';

/** On every answer: nobody may keep it, and it is what its Content-Type says. Towards clients the gateway sets its own. */
export const securityHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const;

const entries = Object.entries(securityHeaders);

export function setSecurityHeaders(): RequestHandler {
  return function setSecurityHeaders(_req, res, next) {
    for (const [name, value] of entries) res.setHeader(name, value);
    next();
  };
}
