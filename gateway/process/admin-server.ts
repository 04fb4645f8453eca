import { createServer, type Server } from 'node:http';
import { isIP, type Socket } from 'node:net';
import express, { type Express, type RequestHandler, type Router } from 'express';
import type { Service } from '../control/status/service.ts';
import { GatewayError } from '../errors.ts';
import { ApiError, renderApiError } from '../faces/api/api-error.ts';
import { closeSlowReaders } from '../platform/http/client-connections.ts';
import { parserError, securityHeaders, sendRawResponse } from '../platform/http/response.ts';

/** Few, so that the port of the API has the files that the process may open (`ulimit -n`). */
const maxConnections = 100;
/** Clients of this port are near. */
const headersTimeoutMs = 5000;
const requestTimeoutMs = 10_000;
const responseTimeoutMs = 30_000;

/** HTTP server of the admin port. Its limits are its own: clients that fill them take nothing from the port of the API. */
export function createAdminServer(dependencies: AdminDependencies): Server {
  const app = createAdminApp(dependencies);
  const server = createServer(
    {
      // Node would send bare responses, without the headers of all others. rejectUnknownHost decides.
      requireHostHeader: false,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: 1000,
    },
    app,
  );
  server.maxConnections = maxConnections;
  closeSlowReaders(server, responseTimeoutMs);
  server.on('checkExpectation', app);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // It could be mixed with a response that is under way.
    if (!socket.writable || error.code === 'ECONNRESET' || socket.bytesWritten > 0) socket.destroy();
    else sendRawResponse(socket, parserError(error));
  });
  return server;
}

interface AdminDependencies extends Pick<Service, 'health' | 'metrics'> {
  metricsType: string;
  /** Host names of the admin port other than localhost, in lower case. */
  hostNames: readonly string[];
  /** The setting ADMIN_URL. */
  adminUrl: string | undefined;
  /** The operators' API. */
  api: Router;
  /** Pages of the console. */
  pages: Router;
  /** Logs an error that is a bug, whose detail is never sent. */
  logUnexpected: (error: unknown) => void;
}

/**
 * The admin port of one gateway, on loopback by default. Health and metrics are open, for orchestrators and Prometheus;
 * the API checks who asks.
 */
function createAdminApp(dependencies: AdminDependencies): Express {
  const { health, metrics, metricsType, hostNames, adminUrl, api, pages, logUnexpected } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  const headers = {
    ...securityHeaders,
    'Cross-Origin-Resource-Policy': 'same-origin',
    ...(adminUrl?.startsWith('https:') ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  };
  app.use((_req, res, next) => {
    res.set(headers);
    next();
  });
  app.use(rejectUnknownHost(hostNames));
  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // Redis and the upstream show in the body and not in the status: an outage must not take every instance out at once.
  app.get('/readyz', (_req, res) => {
    const state = health();
    res.status(state.status === 'ok' ? 200 : 503).json(state);
  });
  app.get('/metrics', async (_req, res) => {
    res.type(metricsType).send(await metrics());
  });
  app.use('/api', api);
  app.use(pages);
  app.use(() => {
    throw new ApiError('not_found');
  });
  app.use(renderApiError({ logUnexpected }));
  return app;
}

const hostPattern = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/;

/**
 * Rejects a request whose Host is an unknown name: a page of another site whose name resolves to this address could read
 * the response (DNS rebinding). An IP address is accepted, since such a page has a name, and so is HTTP/1.0 without Host.
 * @param names host names other than localhost, in lower case
 */
function rejectUnknownHost(names: readonly string[]): RequestHandler {
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
