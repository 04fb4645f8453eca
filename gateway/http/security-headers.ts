/**
 * Headers of every response, also of those to what is no request (OWASP REST Security Cheat Sheet). A response is for one
 * caller, so nobody may store it; and it is JSON, whatever a browser makes of it. The upstream's own copies are dropped.
 */
export const securityHeaders = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
} as const;
