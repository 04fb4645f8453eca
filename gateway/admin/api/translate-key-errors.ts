import type { ErrorRequestHandler } from 'express';
import { OvertakenChange } from '../../operations/overtaken-change.ts';
import { UnknownKey } from '../../operations/unknown-key.ts';
import { ApiError } from './api-error.ts';

/** Gives what operations on keys throw the code that a client can act on. */
export function translateKeyErrors(): ErrorRequestHandler {
  return function translateKeyErrors(thrown: unknown, _req, _res, next) {
    if (thrown instanceof OvertakenChange) next(new ApiError('conflict', { message: sentence(thrown) }));
    else if (thrown instanceof UnknownKey) next(new ApiError('not_found', { message: sentence(thrown) }));
    else next(thrown);
  };
}

function sentence({ message }: Error): string {
  return message.charAt(0).toUpperCase() + message.slice(1);
}
