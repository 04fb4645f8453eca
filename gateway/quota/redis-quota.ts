import { toError } from '#runtime/error-message.ts';
import { Cluster } from 'ioredis';
import type { Caller } from '../keys/api-key-cache.ts';
import type { Limits } from '../limits/limits.ts';
import { alignedLeftMs, mapWindows, windowOf, windows, type ByWindow } from '../limits/windows.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { wrongTypeOf } from '../platform/redis/redis-errors.ts';
import { RedisUnavailable, type RedisGate } from '../platform/redis/redis-gate.ts';
import type { QuotaKeys } from '../platform/redis/redis-keys.ts';
import { scriptOutcome } from '../platform/redis/scripts.ts';
import { operatorsReason } from './bans.ts';
import {
  usageSetting,
  type BanPolicy,
  type LiveBanPolicy,
  type LiveUsagePolicy,
  type UsagePolicy,
} from './policies.ts';
import {
  decisionOf,
  windowStates,
  type Allowed,
  type QuotaDecision,
  type WindowUse,
} from './quota-decision.ts';

export type QuotaBatch = ReturnType<typeof createQuotaBatch>;

interface WaitingRequest {
  keys: QuotaKeys;
  args: readonly string[];
  resolve: (reply: readonly number[]) => void;
  reject: (error: Error) => void;
}

/** A command for this many requests delays others on the same Redis by about a millisecond. */
const maxBatch = 100;
/** Commands without a reply. More hardly shorten the wait; fewer leave this process idle. */
const maxInFlight = 4;

/**
 * Decides on requests that arrive together by one command: a command costs this process more than its contents do. The
 * number of commands in flight is limited, so batches grow with the load.
 */
export function createQuotaBatch({
  redis,
  gate,
  policies,
}: {
  redis: RedisClient;
  gate: Pick<RedisGate, 'open' | 'send'>;
  /** Both policies as formatPolicies returns them. */
  policies: () => readonly string[];
}) {
  // In a cluster, all keys of a command are in one slot, and so belong to one API key.
  const [batchLimit, inFlightLimit] = redis instanceof Cluster ? [1, Infinity] : [maxBatch, maxInFlight];
  const waiting: WaitingRequest[] = [];
  let scheduled = false;
  let inFlight = 0;

  /** Sends after all requests of this turn of the event loop have arrived. */
  function schedule(): void {
    if (scheduled || inFlight >= inFlightLimit) return;
    scheduled = true;
    setImmediate(sendWaiting);
  }

  function sendWaiting(): void {
    scheduled = false;
    const requests = waiting.splice(0);
    if (!gate.open) {
      for (const { reject } of requests) reject(gateShut());
      return;
    }
    for (let sent = 0; sent < requests.length; sent += batchLimit) {
      void send(requests.slice(sent, sent + batchLimit));
    }
  }

  async function send(batch: readonly WaitingRequest[]): Promise<void> {
    inFlight += 1;
    try {
      const keysAndArgs: string[] = [];
      for (const { keys } of batch) keysAndArgs.push(...keys);
      const numberOfKeys = keysAndArgs.length;
      keysAndArgs.push(...policies());
      for (const { args } of batch) keysAndArgs.push(...args);
      const replies = await gate.send(async () => {
        const sent: unknown = JSON.parse(await redis.consumeQuota(numberOfKeys, ...keysAndArgs));
        // One that Redis has sent without being asked: each command gets the reply to the one before.
        if (Array.isArray(sent) && sent.length === batch.length) return sent;
        throw new Error('Redis sent a reply that is not to consume.lua');
      });
      for (const [index, { keys, resolve, reject }] of batch.entries()) {
        const reply = replies[index] ?? [];
        if (reply[0] === scriptOutcome.wrongType) reject(wrongTypeOf(keys));
        else resolve(reply);
      }
    } catch (error) {
      for (const { reject } of batch) reject(toError(error));
    } finally {
      inFlight -= 1;
      if (waiting.length > 0) schedule();
    }
  }

  return {
    /**
     * Runs consume.lua for one request.
     * @param args those of one request, as text
     * @param parse converts the reply for that request
     * @throws RedisUnavailable if Redis does not reply; UnexpectedValue if a value of the customer has the wrong type
     */
    run: <Result>(
      keys: QuotaKeys,
      args: readonly string[],
      parse: (reply: readonly number[]) => Result,
    ): Promise<Result> =>
      new Promise((resolve, reject) => {
        if (!gate.open) return reject(gateShut());
        waiting.push({
          keys,
          args,
          resolve(reply) {
            try {
              resolve(parse(reply));
            } catch (error) {
              reject(error);
            }
          },
          reject,
        });
        schedule();
      }),
  };
}

function gateShut(): RedisUnavailable {
  return new RedisUnavailable('not used at the moment');
}

/** The first arguments of consume.lua: both policies. */
export function formatPolicies(
  policy: BanPolicy,
  retentionDays = usageSetting.defaults.retentionDays,
): string[] {
  return [
    policy.enabled ? policy.strikes : 0,
    policy.strikesPerLimit,
    policy.graceSeconds * 1000,
    policy.windowSeconds * 1000,
    policy.banSeconds * 1000,
    policy.maxBanSeconds * 1000,
    policy.resetSeconds * 1000,
    retentionDays,
  ].map(String);
}

/** @returns a function that gives them as they are now, formatted once and not for each command */
export function createPolicyArguments({
  banPolicy,
  usagePolicy,
}: {
  banPolicy: Pick<LiveBanPolicy, 'current'>;
  usagePolicy: Pick<LiveUsagePolicy, 'current'>;
}): () => string[] {
  let bans: BanPolicy | undefined;
  let usage: UsagePolicy | undefined;
  let formatted: string[] = [];
  return () => {
    if (bans !== banPolicy.current() || usage !== usagePolicy.current()) {
      bans = banPolicy.current();
      usage = usagePolicy.current();
      formatted = formatPolicies(bans, usage.retentionDays);
    }
    return formatted;
  };
}

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
  return { outcome: 'allowed', windows: windowStates(limits, parseUses(uses, 0, limits, nowMs)), nowMs };
}

function parseReply(reply: readonly number[], limits: Limits, units: number): QuotaDecision {
  const [outcome = -1, nowMs = 0] = reply;
  switch (outcome) {
    case scriptOutcome.limited:
    case scriptOutcome.allowed:
      return decisionOf(outcome === scriptOutcome.allowed, limits, {
        units,
        uses: parseUses(reply, 3, limits, nowMs),
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

/**
 * Parses what addWindows of windows.lua appends to a reply, from an element on.
 * @param nowMs Redis' clock, by which calendar windows end
 */
export function parseUses(
  reply: readonly number[],
  first: number,
  limits: Limits,
  nowMs: number,
): ByWindow<WindowUse> {
  let index = first - 2;
  return mapWindows(limits, (_limit, name) => {
    index += 2;
    const isCalendar = windowOf(name).calendar !== undefined;
    const leftMs = isCalendar ? alignedLeftMs(name, nowMs) : (reply[index + 1] ?? 0);
    return { used: reply[index] ?? 0, leftMs };
  });
}
