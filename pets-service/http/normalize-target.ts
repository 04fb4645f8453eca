import type { IncomingMessage } from 'node:http';

const broken = new WeakSet<IncomingMessage>();

/**
 * Leaves a path and a query as the target, exactly as they came. Scheme and host are taken off an absolute form (RFC
 * 9112 section 3.2.2). What is no target is noted and taken away, since Express would look for a URL in it. The
 * gateway has the like; they share no code.
 */
export function normalizeTarget(req: IncomingMessage): void {
  const target = withoutAuthority(req.url ?? '');
  const fragment = target.indexOf('#');
  // The asterisk asks about the server as a whole (RFC 9110 section 9.3.7).
  if (target === '*' && req.method === 'OPTIONS') return;
  if (!target.startsWith('/') || fragment !== -1) broken.add(req);
  if (!target.startsWith('/')) req.url = '/';
  else req.url = fragment === -1 ? target : target.slice(0, fragment);
}

/** Whether the target was none (RFC 9112 section 3.2). */
export function hasBrokenTarget(req: IncomingMessage): boolean {
  return broken.has(req);
}

function withoutAuthority(target: string): string {
  const [, rest] = /^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? [];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}
