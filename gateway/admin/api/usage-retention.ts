import { Router } from 'express';
import { z } from 'zod';
import { adjustUsageExpiry } from '../../operations/adjust-usage-expiry.ts';
import type { ScanProgress } from '../../operations/scan-redis-keys.ts';
import { readRetentionState } from '../../operations/setting-states.ts';
import { createUsageRetentionStore } from '../../operations/usage-retention-store.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { expectUnchanged } from './expect-unchanged.ts';

const change = z.strictObject({
  retentionDays: z.number(),
  expected: z.strictObject({ retentionDays: z.number().nullable() }),
});

/** The expiry of what is stored already, which follows a change of the retention. */
export interface Adjustment {
  retentionDays: number;
  /** Redis keys looked at. */
  scanned: number;
  total: number;
  /** Null while it is under way. */
  outcome: 'done' | 'failed' | null;
}

/** How long the use of keys is kept. */
export function usageRetentionApi({ read, change: makeChange }: Omit<ApiDependencies, 'search'>): Router {
  const router = Router();
  /** The last one that this process has made. */
  let adjustment: Adjustment | null = null;
  let adjusted: Promise<unknown> = Promise.resolve();

  router.get('/settings/usage', async (_req, res) => {
    res.json({ ...(await read(readRetentionState)), adjustment });
  });

  router.put('/settings/usage', async (req, res) => {
    const { retentionDays, expected } = change.parse(req.body);
    const { result, warnings } = await makeChange(req, (session) =>
      createUsageRetentionStore(session).set(retentionDays, (stored) =>
        expectUnchanged(stored === (expected.retentionDays ?? 0), `${stored || 'invalid or missing'} days`),
      ),
    );
    const begun: Adjustment = { retentionDays, scanned: 0, total: 0, outcome: null };
    adjustment = begun;
    // Takes minutes with many keys. It can be made again by setting the same retention, should this process end.
    adjusted = adjusted
      .then(() => makeChange(req, ({ redis }) => adjustUsageExpiry(redis, retentionDays, report)))
      .then(
        () => (begun.outcome = 'done'),
        () => (begun.outcome = 'failed'),
      );

    function report(progress: ScanProgress): void {
      // A later one must not be mixed with this one, which ends here.
      if (adjustment !== begun) throw new Error('another retention was set');
      Object.assign(begun, progress);
    }
    res.json({ retentionDays, before: result.before === 0 ? null : result.before, adjustment, warnings });
  });

  return router;
}
