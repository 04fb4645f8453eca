import { isCommandError, isRedisConnectionLost } from '../../redis/redis-errors.ts';
import { ApiError } from '../api/api-error.ts';

/** Whether an operation failed because Redis cannot be used at the moment, and not because of what it holds. */
export function isRedisUnavailable(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'service_unavailable';
  const cannotServe = error instanceof Error && error.name === 'ReplyError' && !isCommandError(error);
  return cannotServe || isRedisConnectionLost(error);
}
