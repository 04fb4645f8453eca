import { parseIdempotencyKey } from '#runtime/idempotency-key.ts';
import type { Request, Response } from 'express';
import { runOnce } from '../../control/run-once.ts';
import { callerOf } from './access/caller.ts';
import { ApiError } from './api-error.ts';
import { toApiError } from './render-api-error.ts';
import type { RouteApi } from './route.ts';

/**
 * Makes the response of a request, or that of the first one with the same Idempotency-Key of this caller.
 * @throws ApiError bad_request, idempotency_key_in_use, idempotency_key_reused; and what `run` throws
 */
export async function respondOnce(
  { req, res }: { req: Request; res: Response },
  { read }: Pick<RouteApi, 'read'>,
  run: () => Promise<string>,
): Promise<string> {
  const key = parseIdempotencyKey(req, (message) => new ApiError('bad_request', { message }));
  if (key === undefined) return run();
  const request = {
    key,
    secret: callerOf(req).secret,
    content: JSON.stringify([req.method, req.path, req.body]),
    isRefusal: (error: unknown) => toApiError(error).status < 500,
  };
  const once = await read((session) => runOnce(session, request, run));
  switch (once.outcome) {
    case 'done':
      if (once.replayed) res.set('Idempotency-Replayed', 'true');
      return once.json;
    case 'in_use':
      throw new ApiError('idempotency_key_in_use', { headers: { 'Retry-After': '1' } });
    case 'reused':
      throw new ApiError('idempotency_key_reused');
  }
}
