import type { IncomingMessage } from 'node:http';

/**
 * Takes scheme and host off a request target in absolute form, which every server must accept (RFC 9112 section
 * 3.2.2), so that all later steps see the path that they decide on. The path itself is left exactly as it came.
 */
export function normalizeTarget(req: IncomingMessage): void {
  const target = req.url ?? '';
  if (target.startsWith('/')) return;
  const [, rest] = /^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? [];
  if (rest !== undefined) req.url = rest.startsWith('/') ? rest : `/${rest}`;
}
