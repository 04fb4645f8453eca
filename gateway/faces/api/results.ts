import { z } from 'zod';

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
