import { randomBytes } from 'node:crypto';
import type { RecordChange } from '../redis/record-change.ts';

export interface BatchSource {
  action: 'keys.import';
  /** Hexadecimal SHA-256 of the file that the keys come from. */
  fileSha256?: string | undefined;
  audit: RecordChange;
}

const pageSize = 100;

/**
 * Writes many keys as one audit entry, before the first one is written: an entry for each key would drive all others out
 * of the log. If the batch ends early, a second entry has the number of written keys, unless Redis is unavailable.
 * @returns the results in pages, in the order of the keys
 */
export async function* writeBatch<Key extends { plan: string }, Result>(
  keys: readonly Key[],
  write: (key: Key) => Promise<Result>,
  { action, fileSha256, audit }: BatchSource,
): AsyncGenerator<Result[]> {
  const target = `batch_${randomBytes(6).toString('hex')}`;
  const count = keys.length;
  const after = { count, fileSha256, plans: countPlans(keys) };
  await audit({ action, target, before: null, after });
  let written = 0;
  try {
    for (let start = 0; start < count; start += pageSize) {
      const page = keys.slice(start, start + pageSize);
      // All of a page end before an error is thrown, so that the number is exact.
      const settled = await Promise.allSettled(page.map((key) => write(key)));
      const results = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      written += results.length;
      const failed = settled.find((result) => result.status === 'rejected');
      // What was written beside a failure is returned as well.
      if (results.length > 0) yield results;
      if (failed !== undefined) throw failed.reason;
    }
  } finally {
    if (written < count) {
      const change = { before: { count }, after: { count: written } };
      // The error that ended the batch is the one to report.
      await audit({ action: `${action}.incomplete`, target, ...change }).catch(() => {});
    }
  }
}

function countPlans(keys: readonly { plan: string }[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { plan } of keys) counts.set(plan, (counts.get(plan) ?? 0) + 1);
  return Object.fromEntries(counts);
}
