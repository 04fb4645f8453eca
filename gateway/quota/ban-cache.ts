import { LRUCache } from 'lru-cache';
import type { Ban, QuotaDecision } from './quota-decision.ts';

export interface BanMemory {
  /**
   * The remembered ban of a key, or else what `decide` says, of which a ban is remembered.
   * @param outageSinceMs since when Redis can't be asked, by the clock of this memory; undefined where it can. Meanwhile
   * a ban is believed until its end and not for a second only, if it was read shortly before
   * @param onMet told of each ban once, when this process meets it
   */
  recall(
    sha: string,
    outageSinceMs: number | undefined,
    decide: () => Promise<QuotaDecision>,
    onMet?: (ban: Ban) => void,
  ): Promise<QuotaDecision>;
}

interface RememberedBan {
  ban: Ban;
  readAtMs: number;
  /** Set while one request asks Redis again; the others wait for its answer. */
  renewal?: Promise<QuotaDecision> | undefined;
}

const rememberedBans = 10_000;
const trustMs = 1000;
/** Of a ban that was read longer before an outage nobody knows whether an operator has lifted it since. */
const recentMs = 10_000;
/** Two readings of the end of one ban may be so far apart. */
const sameEndMs = 2000;

/** A banned client that hammers costs Redis one call a second and process, however many requests it sends. */
export function createBanMemory({ now }: { now: () => number }): BanMemory {
  const remembered = new LRUCache<string, RememberedBan>({ max: rememberedBans });

  async function decideAndRemember(
    sha: string,
    decide: () => Promise<QuotaDecision>,
    onMet: ((ban: Ban) => void) | undefined,
  ) {
    const decision = await decide();
    if (decision.outcome === 'banned') {
      const met = !decision.isNew && isSameBan(sha, decision);
      remembered.set(sha, { ban: decision, readAtMs: now() });
      if (!met) onMet?.(decision);
    } else if (decision.outcome !== 'stale') remembered.delete(sha);
    return decision;
  }

  /** One that operators have prolonged or shortened is another one. */
  function isSameBan(sha: string, { remainingMs }: Ban): boolean {
    const known = remembered.get(sha);
    return known !== undefined && Math.abs(remaining(known).remainingMs - remainingMs) < sameEndMs;
  }

  function remaining({ ban, readAtMs }: RememberedBan): Ban {
    const elapsedMs = now() - readAtMs;
    return {
      ...ban,
      remainingMs: ban.remainingMs - elapsedMs,
      nowMs: ban.nowMs + elapsedMs,
      isNew: false,
    };
  }

  async function recallKnown(
    sha: string,
    known: RememberedBan,
    outageSinceMs: number | undefined,
    decide: () => Promise<QuotaDecision>,
    onMet: ((ban: Ban) => void) | undefined,
  ): Promise<QuotaDecision> {
    const ban = remaining(known);
    if (ban.remainingMs <= 0) return decideAndRemember(sha, decide, onMet);
    if (now() - known.readAtMs < trustMs) return ban;
    if (outageSinceMs !== undefined && outageSinceMs - known.readAtMs < recentMs) return ban;
    if (known.renewal !== undefined) {
      const renewed = await known.renewal;
      // Only a ban can be shared: anything else was counted for the request that asked.
      return renewed.outcome === 'banned'
        ? { ...renewed, isNew: false }
        : decideAndRemember(sha, decide, onMet);
    }
    known.renewal = decideAndRemember(sha, decide, onMet).finally(() => {
      known.renewal = undefined;
    });
    return known.renewal;
  }

  return {
    recall(sha, outageSinceMs, decide, onMet) {
      const known = remembered.get(sha);
      return known === undefined
        ? decideAndRemember(sha, decide, onMet)
        : recallKnown(sha, known, outageSinceMs, decide, onMet);
    },
  };
}
