import type { WindowView } from './key-usage.ts';

/** Why the next request of a key is refused. */
export type RefusalReason =
  'gone' | 'lost' | 'unusable' | 'revoked' | 'expired' | 'ban' | 'no_limits' | 'day' | 'minute';

/** What the next request of a key gets, with a sentence for people. */
export type NextRequest =
  | { served: true; message: string }
  | {
      served: false;
      reason: RefusalReason;
      message: string;
      /** ISO 8601 in UTC; null if it does not end by itself. */
      until: string | null;
    };

/** What decides on the next request of a valid key. */
export interface ServingState {
  ban: { until: string; reason: string } | null;
  minute: WindowView;
  day: WindowView;
}

/** Decides as consume.lua does: a ban before the windows; of two full windows, the one that ends later. */
export function nextRequest({ ban, minute, day }: ServingState): NextRequest {
  if (ban !== null) {
    const until = ban.until === '' ? null : ban.until;
    const end = until === null ? '' : ` until ${clockTime(until)}`;
    return refusal('ban', `refused${end}: banned (${ban.reason})`, until);
  }
  if (minute.limit === null || day.limit === null) {
    const window = minute.limit === null ? 'minute' : 'day';
    const message = `refused: no ${window} limit is known for this key, neither its own nor its plan's`;
    return refusal('no_limits', message, null);
  }
  const dayDecides = isOver(day) && (!isOver(minute) || day.resetsAt >= minute.resetsAt);
  if (dayDecides) return overLimit('day', day);
  if (isOver(minute)) return overLimit('minute', minute);
  return { served: true, message: `served: ${used(minute)} this minute, ${used(day)} today` };
}

/** What the next request of a key that is not valid gets. */
export function refusedForGood(
  state: Exclude<RefusalReason, 'ban' | 'no_limits' | 'day' | 'minute'>,
  { since, issues = [] }: { since?: string | null; issues?: readonly string[] } = {},
): NextRequest {
  switch (state) {
    case 'revoked':
      return refusal(state, `refused for good: revoked at ${since ?? 'an unknown time'}`, null);
    case 'expired':
      return refusal(state, `refused: expired at ${since ?? 'an unknown time'}`, null);
    case 'unusable':
      return refusal(
        state,
        `refused with 503 by gateways that have not used the key before, since its record is invalid (${issues.join('; ')}); ` +
          'the others go on with its last valid record',
        null,
      );
    case 'gone':
      return refusal(
        state,
        'refused as unknown: its record expired 90 days after the key ended, or was deleted by hand',
        null,
      );
    case 'lost':
      return refusal(state, `not known: ${issues.join('; ')}`, null);
  }
}

function overLimit(reason: 'minute' | 'day', window: WindowView): NextRequest {
  const span = reason === 'minute' ? 'this minute' : 'today';
  return refusal(
    reason,
    `refused until ${clockTime(window.resetsAt)}: ${used(window)} ${span}`,
    window.resetsAt,
  );
}

function refusal(reason: RefusalReason, message: string, until: string | null): NextRequest {
  return { served: false, reason, message, until };
}

const used = (window: WindowView) => `${grouped(window.used)} of ${grouped(window.limit ?? 0)} used`;

const isOver = ({ remaining }: WindowView) => remaining === 0;

function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** Time as HH:MM:SS UTC. */
function clockTime(iso: string): string {
  return `${iso.slice(11, 19)} UTC`;
}
