import { z } from 'zod';
import type { Changed } from './api-dependencies.ts';
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

export const withWarnings = <Result extends object>({ result, warnings }: Changed<Result>) => ({
  ...result,
  warnings,
});

/** A list that has all of its items. */
export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next: z.null() });

/** One page of a list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next: z.string().nullable().describe('Null at the end') });

/** @throws ApiError conflict if what a person has seen is not what is stored now */
export function expectUnchanged(isSame: boolean, now: string): void {
  if (isSame) return;
  throw new ApiError('conflict', {
    message: `Somebody else has changed this since it was read: now it is ${now}. Nothing was changed.`,
  });
}
