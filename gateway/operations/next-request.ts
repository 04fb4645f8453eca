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
      /** The message without the time, such as "60 of 60 used this minute". */
      why: string;
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
    return refusal('ban', `banned (${ban.reason})`, until);
  }
  if (minute.limit === null || day.limit === null) {
    const window = minute.limit === null ? 'minute' : 'day';
    return refusal(
      'no_limits',
      `no ${window} limit is known for this key, neither its own nor its plan's`,
      null,
    );
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
      return refusal(state, `revoked at ${since ?? 'an unknown time'}`, null);
    case 'expired':
      return refusal(state, `expired at ${since ?? 'an unknown time'}`, null);
    case 'unusable':
      return refusal(
        state,
        `its record is invalid (${issues.join('; ')}), so that gateways that have not used the key before answer 503; the ` +
          'others go on with its last valid record',
        null,
      );
    case 'gone':
      return refusal(
        state,
        'it has no record: the record expired 90 days after the key ended, or was deleted by hand',
        null,
      );
    case 'lost':
      return refusal(state, issues.join('; '), null);
  }
}

function overLimit(reason: 'minute' | 'day', window: WindowView): NextRequest {
  return refusal(reason, `${used(window)} ${reason === 'minute' ? 'this minute' : 'today'}`, window.resetsAt);
}

function refusal(reason: RefusalReason, why: string, until: string | null): NextRequest {
  const end = until === null ? '' : ` until ${clockTime(until)}`;
  return { served: false, reason, message: `refused${end}: ${why}`, until, why };
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
