import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from '../api-error.ts';

/**
 * Creates a limit for each subject, such as an address. One process serves the admin port, so its memory is enough.
 * @param reason such as "Too many requests"
 * @returns counts one more of a subject, and throws ApiError too_many_requests if it is over its limit
 */
export function createMinuteLimit(max: number, reason: string) {
  const limiter = new RateLimiterMemory({ points: max, duration: 60 });
  return async function charge(subject: string): Promise<void> {
    await limiter.consume(subject).catch((refusal: unknown) => {
      throw refusal instanceof RateLimiterRes ? tooManyRequests(reason, refusal.msBeforeNext) : refusal;
    });
  };
}

const inSeconds = new Intl.NumberFormat('en-GB', { style: 'unit', unit: 'second', unitDisplay: 'long' });

export function tooManyRequests(reason: string, waitMs: number): ApiError {
  const waitSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new ApiError('too_many_requests', {
    message: `${reason}. Try again in ${inSeconds.format(waitSeconds)}.`,
    headers: { 'Retry-After': String(waitSeconds) },
  });
}
