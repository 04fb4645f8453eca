import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from '../api-error.ts';

/** Counts one more of a subject, such as an address. @returns seconds to wait, if it is over its limit */
export type MinuteLimit = (subject: string) => Promise<number | undefined>;

/** Creates a limit for each subject. One process serves the admin port, so its memory is enough. */
export function createMinuteLimit(max: number): MinuteLimit {
  const limiter = new RateLimiterMemory({ points: max, duration: 60 });
  return async function charge(subject) {
    try {
      await limiter.consume(subject);
      return undefined;
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      return Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
    }
  };
}

const inSeconds = new Intl.NumberFormat('en-GB', { style: 'unit', unit: 'second', unitDisplay: 'long' });

/** @param reason such as "Too many requests" */
export const tooManyRequests = (reason: string, waitSeconds: number) =>
  new ApiError('too_many_requests', {
    message: `${reason}. Try again in ${inSeconds.format(waitSeconds)}.`,
    headers: { 'Retry-After': String(waitSeconds) },
  });
