import type { RecordedRequest } from './history.ts';

export interface ShownWindow {
  limit: number;
  remaining: number;
  /** Seconds to the end, rounded up. */
  resetSeconds: number;
  /** Requests that it has counted, this one included. At least: what is over a lowered limit is not shown. */
  used: number;
  isExact: boolean;
}

const known = new WeakMap<RecordedRequest, ReadonlyMap<string, ShownWindow>>();

/** The windows of RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), by their names. */
export function shownWindows(request: RecordedRequest): ReadonlyMap<string, ShownWindow> {
  const read = known.get(request) ?? readWindows(request);
  known.set(request, read);
  return read;
}

function readWindows({ headers }: RecordedRequest): ReadonlyMap<string, ShownWindow> {
  const limits = new Map(
    Array.from((headers['ratelimit-policy'] ?? '').matchAll(/"(\w+)";q=(\d+);w=\d+/g), ([, name, limit]) => [
      name,
      Number(limit),
    ]),
  );
  const left = (headers['ratelimit'] ?? '').matchAll(/"(\w+)";r=(\d+);t=(\d+)/g);
  return new Map(
    Array.from(left, ([, name = '', r, t]): [string, ShownWindow] => {
      // X-RateLimit shows the limit of the minute during a ban.
      const limit = limits.get(name === 'ban' ? 'minute' : name) ?? Number.NaN;
      const remaining = Number(r);
      const used = limit - remaining;
      return [name, { limit, remaining, resetSeconds: Number(t), used, isExact: remaining > 0 }];
    }),
  );
}

export function numberIn({ headers }: RecordedRequest, name: string): number | undefined {
  const text = headers[name];
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}

/** When the window of a response ends: `resetSeconds` is counted from the decision, and rounded up. */
export function endOf(
  { startMs, endMs }: RecordedRequest,
  { resetSeconds }: Pick<ShownWindow, 'resetSeconds'>,
) {
  return { startMs: startMs + (resetSeconds - 1) * 1000, endMs: endMs + resetSeconds * 1000 };
}
