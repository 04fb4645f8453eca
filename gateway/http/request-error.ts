import type { IncomingMessage } from 'node:http';
import type { GatewayError } from '../errors.ts';

/*
 * The HTTP server finds some faults of a request only after it has been handed over: a broken chunk, a body that
 * does not arrive in time. Whoever reads the body learns of them here and ends the request as usual.
 */
const faults = new WeakMap<IncomingMessage, GatewayError>();
const raised = Symbol('request fault');

export function raiseRequestFault(req: IncomingMessage, fault: GatewayError): void {
  faults.set(req, fault);
  req.emit(raised, fault);
}

/** Calls the listener with the fault, at once where it has been found already. */
export function onRequestFault(req: IncomingMessage, listener: (fault: GatewayError) => void): void {
  // Not in a WeakMap: one that every request is put into makes V8 keep them all for a while.
  req.once(raised, listener);
  const fault = faults.get(req);
  if (fault !== undefined) listener(fault);
}
