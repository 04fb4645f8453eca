import { indexSizes } from '../operations/api-key-index.ts';
import { listKeys, type ListedApiKey } from '../operations/keys.ts';
import { detectMissingKeys } from '../operations/missing-keys.ts';
import type { CountOptions } from '../operations/plan-impact.ts';
import type { ReadingSession, Session } from '../operations/session.ts';
import { lostKey } from '../operations/stored-keys.ts';
import { printError } from './output.ts';
import { withProgressLine } from './progress.ts';

/** A key that has a record, or may have one. */
export type ExistingKey = Extract<ListedApiKey, { outcome: 'record' | 'invalid' }>;

/** Lists keys as listKeys does. At the end prints to standard error what is wrong with the index. */
export async function* listedKeys(
  session: ReadingSession,
  after?: string,
  pageSize?: number,
): AsyncGenerator<ExistingKey[]> {
  const counts = { lost: 0, gone: 0 };
  try {
    for await (const page of listKeys(session, after, pageSize)) {
      yield page.flatMap((key) => {
        if (key.outcome === 'record' || key.outcome === 'invalid') return [key];
        counts[key.outcome] += 1;
        return key.outcome === 'lost' ? [lostKey(key.id)] : [];
      });
    }
  } finally {
    if (counts.gone > 0) {
      printError(
        `note: left out ${counts.gone} without a record, such as keys that expired 90 days ago: ` +
          'ops keys reindex removes them from the index',
      );
    }
    await warnOfMissingKeys(session);
  }
}

/** Runs a count of all keys with its progress on a terminal, then says what is missing. */
export async function countingKeys<T>(
  session: ReadingSession,
  run: (options: CountOptions) => Promise<T>,
): Promise<T> {
  const { listed } = await indexSizes(session.redis);
  const result = await withProgressLine('keys', (onProgress) =>
    run({ onPage: async (read) => onProgress(read, listed) }),
  );
  await warnOfMissingKeys(session);
  return result;
}

/** For lists and numbers of keys: says on standard error if the index, from which they come, lacks some. */
async function warnOfMissingKeys({ redis }: Pick<Session, 'redis'>): Promise<void> {
  const missing = await detectMissingKeys(redis);
  if (missing !== undefined) {
    printError(`warning: ${missing}, so keys may be missing here; run ops keys reindex`);
  }
}
