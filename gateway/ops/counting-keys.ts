import { countKeys } from '../operations/api-key-index.ts';
import type { CountOptions } from '../operations/plan-impact.ts';
import type { ReadingSession } from '../operations/session.ts';
import { withProgressLine } from './progress.ts';

/** Runs a count of all keys with its progress on a terminal. */
export async function countingKeys<T>(
  session: ReadingSession,
  run: (options: CountOptions) => Promise<T>,
): Promise<T> {
  const listed = await countKeys(session.redis);
  return withProgressLine('keys', (onProgress) => run({ onPage: async (read) => onProgress(read, listed) }));
}
