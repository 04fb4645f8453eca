import { isRedisConnectionLost, isServerRefusal, isSlotMove } from '../../../platform/redis/redis-errors.ts';
import { ApiError } from '../api-error.ts';

/** Whether an operation failed because Redis cannot be used at the moment, and not because of what it holds. */
export function isRedisUnavailable(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'service_unavailable';
  return isServerRefusal(error) || isSlotMove(error) || isRedisConnectionLost(error);
}
