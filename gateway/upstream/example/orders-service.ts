import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import express, { type NextFunction, type Request, type Response } from 'express';
import jwt from 'jsonwebtoken';

/* An orders service in memory: an example of a service behind the gateway (../README.md). */

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
/** That of the gateway, which can sign nothing. */
const publicKey = createPublicKey(readFileSync(publicKeyFile));
const ordersOf = new Map<string, Order[]>();
let draining = false;

const app = express().disable('x-powered-by');
// Needs no token: the gateway asks each instance every half second.
app.get('/readyz', (_req, res) => {
  res.status(draining ? 503 : 200).json({ status: draining ? 'draining' : 'ok' });
});
app.use((req, res, next) => {
  const caller = callerOf(req.headers.authorization);
  if (caller === undefined) return sendError(res, 401, 'unauthorized', 'A token of the gateway is required.');
  res.locals['customer'] = caller.id;
  next();
});
app.get('/v1/orders', (_req, res) => {
  res.json(ordersOfCustomer(res));
});
// The gateway lets no body through that is larger than `maxBodyBytes`.
app.post('/v1/orders', express.json({ limit: Infinity, strict: false }), (req, res) => {
  const { petId }: { petId?: unknown } = Object(req.body);
  if (!Number.isSafeInteger(petId) || Number(petId) < 1)
    return sendError(res, 400, 'invalid_request', 'petId must be an integer from 1.');
  const orders = ordersOfCustomer(res);
  const order: Order = { id: `order:${orders.length + 1}`, petId: Number(petId), status: 'placed' };
  ordersOf.set(res.locals['customer'], [...orders, order]);
  res.status(201).location(`/v1/orders/${order.id}`).json(order);
});
app.get('/v1/orders/:id', (req, res) => {
  const order = ordersOfCustomer(res).find(({ id }) => id === req.params.id);
  if (order === undefined) return sendError(res, 404, 'order_not_found', 'There is no such order.');
  res.json(order);
});
app.use((error: Error & { status?: number }, _req: Request, res: Response, _next: NextFunction) => {
  if (error.status === 400) return sendError(res, 400, 'invalid_request', 'The body must be JSON.');
  process.stderr.write(`orders-service: ${error.message}\n`);
  sendError(res, 500, 'internal_error', 'The orders service failed.');
});

/** Copy it into your service. @returns undefined if the request is not from the gateway */
function callerOf(authorization: string | undefined): { id: string } | undefined {
  const [, token = ''] = /^Bearer (\S{1,4096})$/i.exec(authorization ?? '') ?? [];
  try {
    // The algorithm is fixed: what a token says of itself decides nothing (RFC 8725 section 3.1).
    const claims = jwt.verify(token, publicKey, {
      algorithms: ['ES256'],
      audience,
      issuer: ['gateway', 'ops'],
      clockTolerance: 5,
    });
    return typeof claims === 'string' || claims.sub === undefined ? undefined : { id: claims.sub };
  } catch {
    return undefined;
  }
}

const ordersOfCustomer = ({ locals }: Response): Order[] => ordersOf.get(locals['customer']) ?? [];

/** An error has the body that all of the API have. */
function sendError(res: Response, status: number, code: string, message: string): void {
  res.status(status).json({ code, message, status });
}

const server = app.listen(Number(port), '127.0.0.1', () =>
  process.send?.({ type: 'ready', port: Number(port) }),
);
// Longer than the gateway keeps an idle connection, 5 s, so that it never sends a request on one that closes.
server.keepAliveTimeout = 65_000;
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // Not ready first, so that the gateway sends its requests elsewhere; those in flight finish.
    draining = true;
    setTimeout(() => server.close(() => process.exit(0)).closeIdleConnections(), drainMs);
  });
}
