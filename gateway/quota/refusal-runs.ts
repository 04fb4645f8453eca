import { z } from 'zod';
import { windowNames, type WindowName } from '../limits/windows.ts';
import type { CurrentDecision } from './quota-decision.ts';

export type RefusalReason = WindowName | 'ban';

/** Refused requests of a key for one reason. Times are Unix milliseconds by Redis' clock. */
export const refusalRun = z.object({
  fromMs: z.number(),
  toMs: z.number(),
  refused: z.int(),
  reason: z.enum([...windowNames, 'ban']),
});

export type RefusalRun = z.infer<typeof refusalRun>;

/** The request that leads to a ban counts as refused by it. */
export function refusalReason(decision: Exclude<CurrentDecision, { outcome: 'allowed' }>): RefusalReason {
  return decision.outcome === 'banned' ? 'ban' : decision.violated;
}

/** Counts one refused request. There is at most one run for each reason. */
export function countRefusal(runs: RefusalRun[], reason: RefusalReason, nowMs: number): void {
  const run = runs.find((other) => other.reason === reason);
  if (run === undefined) {
    runs.push({ fromMs: nowMs, toMs: nowMs, refused: 1, reason });
    return;
  }
  run.fromMs = Math.min(run.fromMs, nowMs);
  run.toMs = Math.max(run.toMs, nowMs);
  run.refused += 1;
}

export function countRefused(runs: readonly RefusalRun[]): number {
  return runs.reduce((refused, run) => refused + run.refused, 0);
}

/** Lines as refusals.lua stores them. */
export function formatRefusalRuns(runs: readonly RefusalRun[]): string {
  return runs
    .map(
      ({ fromMs, toMs, refused, reason }) =>
        `${Math.floor(fromMs)} ${Math.floor(toMs)} ${refused} ${reason}\n`,
    )
    .join('');
}

const reasons: readonly RefusalReason[] = [...windowNames, 'ban'];
const line = new RegExp(`^([1-9]\\d{0,14}) ([1-9]\\d{0,14}) ([1-9]\\d{0,14}) (${reasons.join('|')})$`);

/** Reads the lines of refusals.lua. Leaves out those that were edited by hand into anything else. */
export function parseRefusalRuns(text: string): RefusalRun[] {
  return text.split('\n').flatMap((stored) => {
    const [, from, to, refused, reason] = line.exec(stored) ?? [];
    const known = reasons.find((other) => other === reason);
    if (known === undefined) return [];
    return [{ fromMs: Number(from), toMs: Number(to), refused: Number(refused), reason: known }];
  });
}
