import { ApiError } from './api-error.ts';

/** @throws ApiError conflict if what a person has seen is not what is stored now */
export function expectUnchanged(isSame: boolean, now: string): void {
  if (isSame) return;
  throw new ApiError('conflict', {
    message: `Somebody else has changed this since it was read: now it is ${now}. Nothing was changed.`,
  });
}
