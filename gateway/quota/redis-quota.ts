import type { Caller } from '../api-keys/api-key-cache.ts';
import { costOfOne, type QuotaCost } from '../limits/access.ts';
import type { Limits } from '../limits/limits.ts';
import { mapWindows, windows, type ByRequiredWindow, type WindowName } from '../limits/windows.ts';
import type { TrialLimits } from '../plans/trial.ts';
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

/** Limits on trial for one request. */
export interface CountedTrial {
  limits: TrialLimits;
  /** Called if they would have refused the request, with the window that decides. */
  onRefusal: (window: WindowName) => void;
}

interface QuotaRequest {
  caller: Caller;
  limits: Limits;
  cost?: QuotaCost;
  trial?: CountedTrial | undefined;
}

/**
 * Decides in one Redis round trip, and counts what an allowed request costs in each window with a limit.
 * @throws RedisUnavailable if Redis does not reply; ReplyError if keys were edited into the wrong type
 */
export function consumeQuota(batch: QuotaBatch, request: QuotaRequest): Promise<QuotaDecision> {
  const { caller, limits, cost = costOfOne, trial } = request;
  const args = [String(caller.rev), optionsArgument(cost, trial?.limits)];
  for (const { name } of windows) args.push(String(limits[name] ?? ''));
  const parse = (reply: readonly number[]): QuotaDecision => {
    const decision = parseReply(reply, limits, cost.units);
    const refusedBy = trial === undefined ? undefined : trialWindow(reply, limits);
    if (refusedBy === undefined) return decision;
    trial?.onRefusal(refusedBy);
    return decision.outcome === 'allowed' ? { ...decision, refusedOnTrial: true } : decision;
  };
  return batch.run(caller.quotaKeys, args, parse, cost.units);
}

interface ChargedRequest extends QuotaRequest {
  cost: QuotaCost;
  decision: Allowed;
  retentionDays: number;
}

/**
 * Gives back what a request has cost, by one Redis command.
 * @returns the decision as it is without it; undefined if the request stays charged
 */
export async function giveBackQuota(
  redis: RedisClient,
  { caller, limits, cost, trial, decision, retentionDays }: ChargedRequest,
): Promise<Allowed | undefined> {
  const counted = decision.refusedOnTrial ? undefined : trial?.limits;
  const [given, nowMs = 0, ...uses] = await redis.giveBack(
    ...caller.quotaKeys,
    decision.nowMs,
    optionsArgument(cost, counted),
    retentionDays,
    ...windows.map(({ name }) => limits[name] ?? ''),
  );
  if (given !== 1) return undefined;
  return { outcome: 'allowed', windows: windowStates(limits, parseUses(uses, 0, limits)), nowMs };
}

/** As consume.lua and trial.lua expect it: `cost=5 since=1795000000000 minute=60 day=1000`. */
function optionsArgument({ units, trialUnits }: QuotaCost, trial: TrialLimits | undefined): string {
  const options = units === 1 ? [] : [`cost=${units}`];
  if (trial !== undefined) {
    options.push(`since=${trial.since}`);
    for (const { name } of windows) if (trial[name] !== undefined) options.push(`${name}=${trial[name]}`);
    if (trialUnits !== undefined) options.push(`trialCost=${trialUnits}`);
  }
  return options.join(' ');
}

/** The window by which a trial would have refused the request: the last element of the reply has its place in the list. */
function trialWindow(reply: readonly number[], limits: Limits): WindowName | undefined {
  const counted = windows.filter(({ name }) => limits[name] !== undefined).length;
  const place = reply[reply[0] === scriptOutcome.banned ? 6 : 3 + 2 * counted] ?? 0;
  return windows[place - 1]?.name;
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
export function parseUses(
  reply: readonly number[],
  first: number,
  limits: Limits,
): ByRequiredWindow<WindowUse> {
  let index = first;
  return mapWindows(limits, () => {
    const use = { used: reply[index] ?? 0, leftMs: reply[index + 1] ?? 0 };
    index += 2;
    return use;
  });
}
