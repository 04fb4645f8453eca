import { LRUCache } from 'lru-cache';
import type { WindowState } from '../limits/window-states.ts';

export interface RefusedAddresses {
  /** The used-up window of an address or network that was refused within the last second, as of now. */
  find(group: string): WindowState | undefined;
  remember(group: string, window: WindowState): void;
  /** Prolongs a refusal while one request asks Redis again, so that the others need not. */
  prolong(group: string): void;
  forget(group: string): void;
}

interface Refusal {
  limit: number;
  endsAtMs: number;
  freshUntilMs: number;
}

const maxRefusals = 10_000;
/** Time after which an operator's higher limit takes effect. */
const freshMs = 1000;

/** Remembers addresses over their limit. A flood from one of them costs Redis one command a second and process. */
export function createRefusedAddresses({ now }: { now: () => number }): RefusedAddresses {
  const refusals = new LRUCache<string, Refusal>({ max: maxRefusals });
  return {
    find(group) {
      const refusal = refusals.get(group);
      if (refusal === undefined) return undefined;
      const { limit, endsAtMs, freshUntilMs } = refusal;
      if (now() >= Math.min(endsAtMs, freshUntilMs)) return undefined;
      return { limit, remaining: 0, resetMs: endsAtMs - now() };
    },
    remember(group, { limit, resetMs }) {
      refusals.set(group, { limit, endsAtMs: now() + resetMs, freshUntilMs: now() + freshMs });
    },
    prolong(group) {
      const refusal = refusals.get(group);
      if (refusal !== undefined) refusal.freshUntilMs = now() + freshMs;
    },
    forget: (group) => void refusals.delete(group),
  };
}
