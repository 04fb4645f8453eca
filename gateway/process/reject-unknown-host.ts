import { isIP } from 'node:net';
import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';

const hostPattern = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/;

/**
 * Rejects a request whose Host is an unknown name: a page of another site whose name resolves to this address could read
 * the response (DNS rebinding). An IP address is accepted, since such a page has a name, and so is HTTP/1.0 without Host.
 * @param names host names other than localhost, in lower case
 */
export function rejectUnknownHost(names: readonly string[]): RequestHandler {
  const known = new Set(['localhost', ...names]);
  return function rejectUnknownHost(req, res, next) {
    if (req.headers.host === undefined || isKnown(req.headers.host, known)) return next();
    const error = new GatewayError('bad_request', {
      status: 421,
      message:
        'The admin port does not respond to this Host. Use localhost, an IP address or a name in ADMIN_HOSTS or ADMIN_URL.',
    });
    res.status(error.status).json(error.body);
  };
}

function isKnown(host: string, names: ReadonlySet<string>): boolean {
  const [, ipv6, name = ''] = hostPattern.exec(host) ?? [];
  if (ipv6 !== undefined) return isIP(ipv6) === 6;
  return isIP(name) === 4 || names.has(name.toLowerCase());
}
