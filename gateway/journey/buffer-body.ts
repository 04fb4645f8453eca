import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';
import type { MakeCounts } from '../http/in-use-counters.ts';
import { collectBody } from '../http/read-body.ts';
import { awaitsContinue, carriesBody, hasBody } from '../http/request-body.ts';
import { callerOf } from './authenticate.ts';

/** What nearly every body is smaller than. */
const smallBodyBytes = 16 * 1024;
/** Larger bodies that are held at once: 64 MiB of them at the most. */
const maxLargeBodies = 64;
/** Of one caller, so that nobody takes all of them. */
const maxLargeBodiesOfCaller = 8;

/**
 * Waits until a body is here as a whole. Passed on while it comes in, it would occupy a connection to the upstream
 * for as long as its client likes: a few hundred that take their time would leave none for others.
 */
export function holdBody(makeCounts: MakeCounts): RequestHandler {
  const all = makeCounts('large bodies', maxLargeBodies);
  const perCaller = makeCounts('large bodies of a caller', maxLargeBodiesOfCaller);

  /** A larger body begins. @returns what undoes it */
  function takeSlot(caller: string): () => void {
    if (all.of('') >= maxLargeBodies || perCaller.of(caller) >= maxLargeBodiesOfCaller)
      throw tooManyLargeBodies();
    all.add('');
    perCaller.add(caller);
    return () => {
      all.remove('');
      perCaller.remove(caller);
    };
  }

  return function holdBody(req, res, next) {
    if (!hasBody(req)) return next();
    if (awaitsContinue(req)) res.writeContinue();
    if (!carriesBody(req)) {
      req.resume();
      return next();
    }
    let large = false;
    collectBody(req, {
      onBytes(bytes) {
        if (large || bytes <= smallBodyBytes) return;
        // Held until the exchange is over, however it ends.
        res.once('close', takeSlot(callerOf(res.locals).id));
        large = true;
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
