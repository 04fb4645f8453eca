import { dayMs, dayNumberOf } from '../../gateway/limits/windows.ts';
import { isServed, overlaps, type Interval, type LimitedWindow, type RecordedRequest } from './history.ts';
import { endOf, shownWindows, type ShownWindow } from './rate-headers.ts';
import type { View } from './view.ts';

/** A response that was decided in Redis, with what it shows of one window. */
export interface Decided {
  request: RecordedRequest;
  shown: ShownWindow;
  served: boolean;
}

/** One window of an owner: all responses of it, in the order in which their requests were sent. */
export interface SeenWindow extends Interval {
  name: LimitedWindow;
  decided: readonly Decided[];
  /** Requests that it had counted when the history began. */
  usedBefore: number;
}

export const minuteMs = 60_000;
/** Windows of one owner end at least a minute apart; a response that took so long shows nothing. */
const longestMs = 20_000;

/** Responses that were decided in Redis, and show a window. */
function decidedBy(view: View, owner: string, name: LimitedWindow): Decided[] {
  return (view.byOwner.get(owner) ?? []).flatMap((request) => {
    const shown = shownWindows(request).get(name);
    if (shown === undefined || request.code === 'api_key_banned') return [];
    if (request.endMs - request.startMs > longestMs || view.mayBeLocal(request)) return [];
    return [
      { request, shown, served: isServed(request) || request.status === 500 || request.status === 404 },
    ];
  });
}

/** The minutes of an owner. They are told apart by their ends, as the responses show them. */
export function minutesOf(view: View, owner: string): SeenWindow[] {
  const ends = decidedBy(view, owner, 'minute')
    // A minute without a request is not open: its end is not fixed yet.
    .filter(({ shown }) => shown.used > 0 || !shown.isExact)
    .map((decided) => Object.assign(endOf(decided.request, decided.shown), { decided }))
    .toSorted((one, other) => middle(one) - middle(other));
  const found: { ends: typeof ends; lastMs: number }[] = [];
  for (const end of ends) {
    const last = found.at(-1);
    if (last !== undefined && middle(end) - last.lastMs < minuteMs / 2) {
      last.ends.push(end);
      last.lastMs = middle(end);
    } else found.push({ ends: [end], lastMs: middle(end) });
  }
  return found.map(({ ends: same }) => {
    // The end lies in all of the intervals.
    const end = {
      startMs: Math.max(...same.map(({ startMs }) => startMs)),
      endMs: Math.min(...same.map(({ endMs }) => endMs)),
    };
    const opened = view.history.opened.find(
      (window) => window.owner === owner && overlapsWidely(window, end),
    );
    return Object.assign(end, {
      name: 'minute' as const,
      decided: inOrder(same.map(({ decided }) => decided)),
      usedBefore: opened?.used ?? 0,
    });
  });
}

/** The UTC days of an owner. What was sent around midnight is in none. */
export function daysOf(view: View, owner: string): SeenWindow[] {
  const within = decidedBy(view, owner, 'day').filter(
    ({ request }) => dayNumberOf(request.startMs) === dayNumberOf(request.endMs),
  );
  return Array.from(
    Map.groupBy(within, ({ request }) => dayNumberOf(request.startMs)),
    ([day, decided]) => ({
      name: 'day',
      startMs: (day + 1) * dayMs,
      endMs: (day + 1) * dayMs,
      decided,
      usedBefore: 0,
    }),
  );
}

const middle = ({ startMs, endMs }: Interval) => (startMs + endMs) / 2;

function overlapsWidely(one: Interval, other: Interval): boolean {
  const aroundMs = 5000;
  return overlaps(
    { startMs: one.startMs - aroundMs, endMs: one.endMs + aroundMs },
    { startMs: Math.min(other.startMs, other.endMs), endMs: Math.max(other.startMs, other.endMs) },
  );
}

function inOrder(decided: readonly Decided[]): Decided[] {
  return decided.toSorted((one, other) => one.request.startMs - other.request.startMs);
}
