import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';
import { createInUseCounter } from '../http/in-use-counters.ts';
import { receiveBody as startReceiving } from '../http/receive-body.ts';
import {
  assertSmallBody,
  awaitsContinue,
  defaultMaxBodyBytes,
  hasBody,
  isSafe,
} from '../http/request-body.ts';
import { operationOf } from '../services/routes.ts';
import { callerOf } from './request-context.ts';

/** Nearly every body is smaller. */
const smallBodyBytes = 16 * 1024;
/** Maximum number of larger bodies that arrive at a process at the same time. */
const maxLargeBodies = 64;
/** The same for one customer, whatever the number of its keys, so that nobody takes all of them. */
const maxLargeBodiesOfCustomer = 8;

/** Counts a body of a customer that has become large. @returns a function that undoes it @throws if there are too many */
export type TakeLargeBodySlot = (customerId: string) => () => void;

export function createLargeBodySlots(): TakeLargeBodySlot {
  let taken = 0;
  const perCustomer = createInUseCounter();
  return function takeSlot(customerId) {
    if (taken >= maxLargeBodies || perCustomer.count(customerId) >= maxLargeBodiesOfCustomer) {
      throw tooManyLargeBodies();
    }
    taken += 1;
    perCustomer.add(customerId);
    return () => {
      taken -= 1;
      perCustomer.remove(customerId);
    };
  };
}

interface ReceiveBodyDependencies {
  /** By the ordinal of the service. */
  services: readonly { maxBodyBytes: number }[];
  takeLargeBodySlot: TakeLargeBodySlot;
}

/**
 * Waits until a small body is complete. Streamed to the upstream, it would occupy a connection for as long as its client
 * likes: a few hundred slow clients would leave none for others. A larger one is streamed, within the slots.
 */
export function receiveBody({ services, takeLargeBodySlot }: ReceiveBodyDependencies): RequestHandler {
  return function receiveBody(req, res, next) {
    if (!hasBody(req)) return next();
    const { service } = res.locals.route ?? {};
    const maxBytes = services[service?.ordinal ?? -1]?.maxBodyBytes;
    assertSmallBody(req, maxBytes);
    if (awaitsContinue(req)) res.writeContinue();
    // That of a described GET or HEAD has no meaning (RFC 9110 section 9.3.1).
    if (isSafe(req) && operationOf(service, req.method)?.requestHeaders !== 'all') {
      req.resume();
      return next();
    }
    let isLarge = false;
    startReceiving(req, {
      maxBytes: maxBytes ?? defaultMaxBodyBytes,
      onBytes(bytes) {
        if (isLarge || bytes <= smallBodyBytes) return;
        // Until the response is sent, or the connection is closed.
        res.once('close', takeLargeBodySlot(callerOf(res.locals).customerId));
        isLarge = true;
      },
      done(outcome) {
        if (outcome instanceof GatewayError) return next(outcome);
        res.locals.body = outcome;
        next();
      },
    });
  };
}

function tooManyLargeBodies(): GatewayError {
  return new GatewayError('service_unavailable', {
    message: 'The gateway is receiving too many large bodies at once. Retry shortly.',
    headers: { 'Retry-After': '1' },
  });
}
