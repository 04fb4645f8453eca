import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { createIsProxy } from '../platform/http/addresses.ts';
import { closeSlowReaders, createPipelines } from '../platform/http/client-connections.ts';
import { createIdleConnections, limitConnections } from '../platform/http/connection-limits.ts';
import { parserError, sendRawResponse } from '../platform/http/response.ts';

/** Part of the open files that connection-budget.ts reserves, so that the port of the API never lacks them. */
const maxConnections = 100;
/** Leaves room for probes, Prometheus and operators elsewhere. */
const maxConnectionsPerAddress = 60;
/** Clients of this port are near. */
const headersTimeoutMs = 5000;
const requestTimeoutMs = 10_000;
const responseTimeoutMs = 30_000;

/**
 * HTTP server of the admin port. Its limits are its own: clients that fill them take nothing from the port of the API.
 * @param trustProxy proxies whose clients share their address, in proxy-addr's notation
 */
export function createAdminServer(app: RequestListener, trustProxy: readonly string[]): Server {
  const idle = createIdleConnections();
  const { serve, serving } = createPipelines(app, { maxRequestsPerConnection: Infinity }, idle);
  const server = createServer({
    // Node would send bare responses, without the headers of all others. rejectUnknownHost decides.
    requireHostHeader: false,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1000,
  });
  limitConnections(server, {
    maxConnections,
    maxConnectionsPerAddress,
    maxOpenRefused: 0,
    idle,
    isProxy: createIsProxy(trustProxy),
    onOpen() {},
    onClosedIdle() {},
    onRefused() {},
  });
  closeSlowReaders(server, responseTimeoutMs);
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // A response that is under way would be mixed with this one.
    if (!socket.writable || error.code === 'ECONNRESET' || serving(socket) !== undefined) socket.destroy();
    else sendRawResponse(socket, parserError(error));
  });
  return server;
}
