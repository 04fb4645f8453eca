import { apiKeyState } from '../api-keys/api-key-record.ts';
import { banPolicySetting, strikesBeforeBan } from '../quota/ban-policy.ts';
import { findBan } from './bans.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { readKeyWindows, type WindowViews } from './key-windows.ts';
import { showLimited } from './limited.ts';
import { readStoredLimits } from './limits-in-force.ts';
import type { Session } from './session.ts';
import { showSetting } from './settings.ts';

/** Usage of a key, or of a customer without bans and strikes, as operators see it. */
export interface KeyUsage extends WindowViews {
  id: string;
  name: string;
  plan: string;
  state: string;
  /** Refused requests that count towards a ban now. */
  strikes: number;
  /** Strikes that lead to a ban; null if the ban policy or the minute limit is invalid. */
  strikesToBan: number | null;
  ban: { reason: string; endsAt: string } | null;
}

/** Creates a reader that reads the ban policy once for all keys. */
export async function createUsageReader(session: Session) {
  const { redis, now } = session;
  const policy = await ignoreInvalid(showSetting(session, banPolicySetting));

  return {
    /** Undefined if it is invalid; gateways then use their last valid one. */
    policy,
    /** @throws InvalidOperation if there is no such key, or its record is invalid */
    async read(id: string): Promise<KeyUsage> {
      const { place, record } = await showLimited(redis, id);
      // Gateways use their last valid limit in place of an invalid one.
      const limits = await readStoredLimits(redis, record);
      const [{ windows, strikes }, ban] = await Promise.all([
        readKeyWindows(redis, place, limits, policy),
        findBan(session, place),
      ]);
      const state = apiKeyState(record, now());
      return {
        id,
        name: record.name,
        plan: record.plan,
        // A revoked key would not work without its ban either.
        state: state === 'valid' && ban !== undefined ? 'banned' : state,
        ...windows,
        strikes,
        strikesToBan: strikesBeforeBan(policy, limits.minute),
        ban: ban ?? null,
      };
    },
  };
}
