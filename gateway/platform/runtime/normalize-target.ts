import type { IncomingMessage } from 'node:http';

const invalidTargets = new WeakSet<IncomingMessage>();

/**
 * Leaves path and query as the target, exactly as they were sent, so that all steps see the same one. Scheme and host of
 * an absolute form, which every server must accept, are removed (RFC 9112 section 3.2.2). An invalid target is recorded
 * and replaced, since Express would look for a URL in it.
 */
export function normalizeTarget(req: IncomingMessage): void {
  const target = withoutAuthority(req.url ?? '');
  const fragment = target.indexOf('#');
  // The asterisk means the server as a whole (RFC 9110 section 9.3.7).
  if (target === '*' && req.method === 'OPTIONS') return;
  if (!target.startsWith('/') || fragment !== -1) invalidTargets.add(req);
  if (!target.startsWith('/')) req.url = '/';
  else req.url = fragment === -1 ? target : target.slice(0, fragment);
}

/** Whether the target was invalid (RFC 9112 section 3.2). */
export function hasInvalidTarget(req: IncomingMessage): boolean {
  return invalidTargets.has(req);
}

function withoutAuthority(target: string): string {
  const [, rest] = /^https?:\/\/[^/?#]*((?:[/?#].*)?)$/is.exec(target) ?? [];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}
