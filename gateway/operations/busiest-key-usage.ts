import { readBusiestKeys, type BusyKey } from './busiest-keys.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { createUsageReader, type KeyUsage } from './key-usage.ts';
import type { Session } from './session.ts';

/** Requests of a key in the last minute, and its usage. */
export type BusyKeyUsage = Pick<BusyKey, 'requests' | 'refused'> & KeyUsage;

/** The keys with the most requests in the last minute on all instances, busiest first. */
export async function readBusiestKeyUsage(session: Session, count: number): Promise<BusyKeyUsage[]> {
  const reader = await createUsageReader(session);
  const busiest = await readBusiestKeys(session.redis, count, session.now());
  const rows = await Promise.all(
    busiest.map(async ({ id, requests, refused }) => {
      // Its record may be gone, or invalid.
      const usage = await ignoreInvalid(reader.read(id));
      return usage === undefined ? undefined : Object.assign(usage, { requests, refused });
    }),
  );
  return rows.filter((row) => row !== undefined);
}
