import { z } from 'zod';
import { ApiError } from './api-error.ts';

const changedSchema = z
  .object({
    warnings: z
      .array(z.string())
      .describe(
        'Doubts whether the change survives a failure of Redis: not on its disk, or not on its replicas',
      ),
  })
  .meta({ id: 'Changed' });

/** What a change returns, with warnings. */
export const changed = <Result extends z.ZodType>(result: Result) => result.and(changedSchema);

/** @throws ApiError conflict if what a person has seen is not what is stored now */
export function expectUnchanged(isSame: boolean, now: string): void {
  if (isSame) return;
  throw new ApiError('conflict', {
    message: `Somebody else has changed this since it was read: now it is ${now}. Nothing was changed.`,
  });
}
