import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createVerifyToken, type Caller } from './verify-token.ts';

/*
 * An orders service in memory: an example of a service behind the gateway (../README.md). `npm start` starts it if
 * SERVICES_FILE is the file beside it.
 */

interface Order {
  id: string;
  petId: number;
  status: 'placed';
}

const {
  ORDERS_PORT: port = '3003',
  ORDERS_AUDIENCE: audience = 'orders',
  TOKEN_PUBLIC_KEY_FILE: publicKeyFile = '.data/internal-token/public.pem',
} = process.env;
/** Time in which the gateway sees that this instance drains. */
const drainMs = 1000;
const verifyToken = createVerifyToken(readFileSync(publicKeyFile, 'utf8'), audience);
const ordersOf = new Map<string, Order[]>();
let draining = false;

async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { pathname } = new URL(req.url ?? '/', 'http://orders');
  // Needs no token: the gateway asks each instance every half second.
  if (pathname === '/readyz')
    return sendJson(res, draining ? 503 : 200, { status: draining ? 'draining' : 'ok' });
  const caller = verifyToken(req.headers.authorization);
  if (caller === undefined) return sendError(res, 401, 'unauthorized', 'A token of the gateway is required.');
  const orders = ordersOf.get(caller.id) ?? [];
  if (pathname === '/v1/orders')
    return req.method === 'POST' ? placeOrder(req, res, caller) : sendJson(res, 200, orders);
  const order = orders.find(({ id }) => pathname === `/v1/orders/${id}`);
  if (order === undefined) return sendError(res, 404, 'order_not_found', 'There is no such order.');
  sendJson(res, 200, order);
}

/** The gateway lets no body through that is larger than `maxBodyBytes`. */
async function placeOrder(req: IncomingMessage, res: ServerResponse, caller: Caller): Promise<void> {
  const petId = petIdOf(await text(req));
  if (petId === undefined) return sendError(res, 400, 'invalid_request', 'petId must be an integer from 1.');
  const orders = ordersOf.get(caller.id) ?? [];
  const order: Order = { id: `order:${orders.length + 1}`, petId, status: 'placed' };
  ordersOf.set(caller.id, [...orders, order]);
  res.setHeader('Location', `/v1/orders/${order.id}`);
  sendJson(res, 201, order);
}

/** @returns undefined if the body is invalid */
function petIdOf(body: string): number | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const petId: unknown =
      typeof value === 'object' && value !== null && 'petId' in value ? value.petId : undefined;
    return Number.isSafeInteger(petId) && Number(petId) >= 1 ? Number(petId) : undefined;
  } catch {
    return undefined;
  }
}

/** An error has the body that all of the API have. */
function sendError(res: ServerResponse, status: number, code: string, message: string): void {
  sendJson(res, status, { code, message, status });
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  res.writeHead(status, headers).end(body);
}

const server = createServer((req, res) => {
  respond(req, res).catch((error: unknown) => {
    process.stderr.write(`orders-service: ${String(error)}\n`);
    if (!res.headersSent) sendError(res, 500, 'internal_error', 'The orders service failed.');
  });
});
// Longer than the gateway keeps an idle connection, 5 s, so that it never sends a request on one that closes.
server.keepAliveTimeout = 65_000;
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ type: 'ready', port: typeof address === 'object' && address !== null ? address.port : 0 });
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // Not ready first, so that the gateway sends its requests elsewhere; those in flight finish.
    draining = true;
    setTimeout(() => server.close(() => process.exit(0)).closeIdleConnections(), drainMs);
  });
}
