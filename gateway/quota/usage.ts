import type { Limits } from '../limits/limits.ts';
import type { WindowState } from '../limits/window-states.ts';
import { mapWindows, windows, type ByWindow } from '../limits/windows.ts';
import { scriptOutcome } from '../platform/redis/define-scripts.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { quotaKeys, type KeyPlace } from '../platform/redis/redis-keys.ts';
import { operatorsReason } from './ban-reason.ts';
import { windowStates } from './quota-decision.ts';
import { parseUses } from './redis-quota.ts';

export interface UsedWindow extends WindowState {
  /** Requests counted. More than the limit if that was lowered in the meantime. */
  used: number;
}

/** Use of the quotas of a key's customer, and the ban of the key. Reading it counts nothing. */
export interface Usage {
  /** Each window with a limit. */
  windows: ByWindow<UsedWindow>;
  /** Milliseconds to the end of the ban; 0 for a key that is not banned. */
  banMs: number;
  /** Reason that an operator gave for the ban. */
  banReason: string | undefined;
  /** Refused requests that count towards a ban now. */
  strikes: number;
  /** Redis' clock, in Unix milliseconds. */
  nowMs: number;
}

interface ReadUsageOptions {
  place: KeyPlace;
  /** Rev of the record that the limits are from, or anyRev. */
  rev: number;
  limits: Limits;
  banPolicy: { windowSeconds: number };
}

/**
 * Reads the windows of a key's customer by one Redis command.
 * @returns undefined if the record has changed since it was read
 */
export async function readUsage(redis: RedisClient, options: ReadUsageOptions): Promise<Usage | undefined> {
  const { place, rev, limits, banPolicy } = options;
  const reply = await redis.readUsage(
    ...quotaKeys(place),
    rev,
    banPolicy.windowSeconds * 1000,
    ...windows.map(({ name }) => limits[name] ?? ''),
  );
  const [outcome, nowMs = 0, banMs = 0, strikes = 0, ban = ''] = reply;
  if (outcome !== scriptOutcome.allowed) return undefined;
  const uses = parseUses(reply, 5, limits, nowMs);
  const used = mapWindows(windowStates(limits, uses), (state, name) => ({
    ...state,
    used: uses[name]?.used ?? 0,
  }));
  return { windows: used, banMs, banReason: operatorsReason(String(ban)), strikes, nowMs };
}
