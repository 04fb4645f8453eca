import type { Caller } from '../api-keys/api-key-cache.ts';
import type { Limits } from '../limits/limits.ts';
import { mapWindows, windows, type ByWindow } from '../limits/windows.ts';
import { scriptOutcome } from '../redis/define-scripts.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { operatorsReason } from './ban-reason.ts';
import type { QuotaBatch } from './quota-batch.ts';
import {
  decisionOf,
  windowStates,
  type Allowed,
  type QuotaDecision,
  type WindowUse,
} from './quota-decision.ts';

interface QuotaRequest {
  caller: Caller;
  limits: Limits;
  /** Units; 1 by default. */
  cost?: number;
}

/**
 * Decides in one Redis round trip, and counts what an allowed request costs in each window with a limit.
 * @throws RedisUnavailable if Redis does not reply; UnexpectedValue as QuotaBatch does
 */
export function consumeQuota(batch: QuotaBatch, request: QuotaRequest): Promise<QuotaDecision> {
  const { caller, limits, cost = 1 } = request;
  const args = [String(caller.rev), cost === 1 ? '' : String(cost)];
  for (const { name } of windows) args.push(String(limits[name] ?? ''));
  return batch.run(caller.quotaKeys, args, (reply) => parseReply(reply, limits, cost));
}

interface ChargedRequest extends QuotaRequest {
  cost: number;
  decision: Allowed;
  retentionDays: number;
}

/**
 * Gives back what a request has cost, by one Redis command.
 * @returns the decision as it is without it; undefined if the request stays charged
 */
export async function giveBackQuota(
  redis: RedisClient,
  { caller, limits, cost, decision, retentionDays }: ChargedRequest,
): Promise<Allowed | undefined> {
  const [given, nowMs = 0, ...uses] = await redis.giveBack(
    ...caller.quotaKeys,
    decision.nowMs,
    cost,
    retentionDays,
    ...windows.map(({ name }) => limits[name] ?? ''),
  );
  if (given !== 1) return undefined;
  return { outcome: 'allowed', windows: windowStates(limits, parseUses(uses, 0, limits)), nowMs };
}

function parseReply(reply: readonly number[], limits: Limits, units: number): QuotaDecision {
  const [outcome = -1, nowMs = 0] = reply;
  switch (outcome) {
    case scriptOutcome.limited:
    case scriptOutcome.allowed:
      return decisionOf(outcome === scriptOutcome.allowed, limits, {
        units,
        uses: parseUses(reply, 3, limits),
        nowMs,
        strikesLeft: reply[2],
      });
    case scriptOutcome.banned: {
      const [, , remainingMs = 0, isNew, value, setEndMs] = reply;
      const reason = operatorsReason(String(value));
      return {
        outcome: 'banned',
        limits,
        remainingMs,
        nowMs,
        isNew: isNew === 1,
        reason,
        ...(reason === undefined && setEndMs ? { setEndMs } : {}),
      };
    }
    case scriptOutcome.stale:
      return { outcome: 'stale' };
    default:
      throw new Error(`consume.lua returned the outcome ${outcome}`);
  }
}

/** Parses what addWindows of windows.lua appends to a reply, from an element on. */
export function parseUses(reply: readonly number[], first: number, limits: Limits): ByWindow<WindowUse> {
  let index = first;
  return mapWindows(limits, () => {
    const use = { used: reply[index] ?? 0, leftMs: reply[index + 1] ?? 0 };
    index += 2;
    return use;
  });
}
