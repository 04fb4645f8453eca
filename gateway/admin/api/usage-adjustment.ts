import type { Request } from 'express';
import { z } from 'zod';
import { adjustUsageExpiry } from '../../operations/adjust-usage-expiry.ts';
import type { ScanProgress } from '../../operations/scan-redis-keys.ts';
import type { ApiDependencies } from './api-dependencies.ts';

/** The expiry of what is stored already, which follows a change of the retention. */
export const adjustmentSchema = z
  .object({
    retentionDays: z.int(),
    scanned: z.int().describe('Redis keys looked at'),
    total: z.int(),
    outcome: z.enum(['done', 'failed']).nullable().describe('Null while it is under way'),
  })
  .nullable()
  .meta({
    id: 'Adjustment',
    description: 'Of what is stored to the last change of the retention by this process; null without one',
  });

type Adjustment = z.infer<typeof adjustmentSchema>;

export interface UsageAdjustments {
  /** The last one that this process has made. */
  latest(): Adjustment;
  /** Begins one in the name of the request's person, when earlier ones have ended. */
  begin(req: Request, retentionDays: number): Adjustment;
}

export function createUsageAdjustments({ change }: Pick<ApiDependencies, 'change'>): UsageAdjustments {
  let adjustment: Adjustment = null;
  let adjusted: Promise<unknown> = Promise.resolve();
  return {
    latest: () => adjustment,
    begin(req, retentionDays) {
      const begun: NonNullable<Adjustment> = { retentionDays, scanned: 0, total: 0, outcome: null };
      adjustment = begun;
      // Takes minutes with many keys. It can be made again by setting the same retention, should this process end.
      adjusted = adjusted
        .then(() => change(req, ({ redis }) => adjustUsageExpiry(redis, retentionDays, report)))
        .then(
          () => (begun.outcome = 'done'),
          () => (begun.outcome = 'failed'),
        );
      return begun;

      function report(progress: ScanProgress): void {
        // A later one must not be mixed with this one, which ends here.
        if (adjustment !== begun) throw new Error('another retention was set');
        Object.assign(begun, progress);
      }
    },
  };
}
