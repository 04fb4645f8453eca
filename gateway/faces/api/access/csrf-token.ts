import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Token that a page sends in X-CSRF-Token with each change. It is derived from the session's secret, which no script can
 * read, and only a page of the same origin can ask for it.
 */
export function csrfTokenFor(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('csrf').digest('base64url');
}

/** Compares in constant time. */
export function isCsrfToken(given: string, sessionToken: string): boolean {
  const [actual, expected] = [Buffer.from(given), Buffer.from(csrfTokenFor(sessionToken))];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
