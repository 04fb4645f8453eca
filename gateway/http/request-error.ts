import type { IncomingMessage } from 'node:http';
import type { GatewayError } from '../errors.ts';

/*
 * The HTTP server finds some errors of a request only after the journey has begun: an invalid chunk, or a body that does
 * not arrive in time. The reader of the body is notified here, and ends the request as usual.
 */
const errors = new WeakMap<IncomingMessage, GatewayError>();
const raised = Symbol('request error');

export function raiseRequestError(req: IncomingMessage, error: GatewayError): void {
  errors.set(req, error);
  req.emit(raised, error);
}

/** Calls the listener with the error, at once if it was raised before. */
export function onRequestError(req: IncomingMessage, listener: (error: GatewayError) => void): void {
  // A listener and not a WeakMap entry: V8 keeps the keys of a WeakMap alive for a while, and this is every request.
  req.once(raised, listener);
  const error = errors.get(req);
  if (error !== undefined) listener(error);
}
