import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { withLimits, type Limits } from '../limits/limits.ts';
import { withoutWindows, type WindowName } from '../limits/windows.ts';
import { strikesToBan, type BanPolicy } from '../quota/ban-policy.ts';
import { readRefusedUse, type RefusedUse } from '../quota/refused-use.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { createApiKeyIndex } from './api-key-index.ts';
import { createApiKeyStore } from './api-key-store.ts';
import { readBanOrigin, type BanOrigin } from './ban-origin.ts';
import { createBanPolicyStore } from './ban-policy-store.ts';
import { createBanStore } from './ban-store.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { createKeyTrials, type KeyOnTrial } from './key-trial.ts';
import { keyView, limitsView } from './key-view.ts';
import { readKeyWindows, type KeyWindows, type WindowViews } from './key-windows.ts';
import { createLimitsReader, knownLimitsIn, type LimitsInForce } from './limits-in-force.ts';
import { nextRequest, refusedForGood, type NextRequest } from './next-request.ts';
import type { Session } from './session.ts';
import { createStoredKeys } from './stored-keys.ts';
import { readTrialCounts, type TrialCounts } from './trial-report.ts';
import { UnknownKey } from './unknown-key.ts';

type KeyView = ReturnType<typeof keyView>;

/** Ban of a key that is in force. Times are ISO 8601 in UTC. */
export interface BanView extends BanOrigin {
  reason: string;
  /** Empty for a ban without an end, which was set by hand. */
  until: string;
}

/** Limits on trial, with what they would have refused. */
export type KeyTrialView = TrialCounts &
  Limits & {
    from: 'key' | 'plan';
    /** ISO 8601 in UTC. */
    since: string;
  };

/** All that operators see of one key. */
export interface KeyDetail extends Omit<KeyView, 'state' | WindowName> {
  state: KeyView['state'] | 'banned' | 'gone' | 'lost';
  /** What is wrong with its record, or with the fields of a trial. */
  issues: string[];
  /** Limits of its own; null for those of its plan. */
  own: ReturnType<typeof limitsView>;
  /** Null without a valid record, as all that follows but `next`. */
  limits: LimitsInForce | null;
  windows: WindowViews | null;
  strikes: number | null;
  /** Null also if the ban policy is invalid. */
  strikesToBan: number | null;
  ban: BanView | null;
  trial: KeyTrialView | null;
  /** Requests after its end, by address, the latest first. */
  refusedUse: RefusedUse[];
  /** What its next request gets. */
  next: NextRequest;
  /** Redis' clock when this was read, ISO 8601 in UTC. */
  now: string;
}

/**
 * Reads a key with its use now.
 * @throws InvalidOperation if no index has the id, and for an API key
 */
export async function readKeyDetail(session: Session, id: string): Promise<KeyDetail> {
  const { redis, audit, now } = session;
  const index = createApiKeyIndex({ redis, now });
  const keyHash = await index.keyHashOf(id);
  if (keyHash === undefined) {
    if (!(await index.isListed(id))) {
      throw new UnknownKey(id);
    }
    const issues = [`${redisKeys.apiKeyIds} has no hash for it; ops keys reindex finds it`];
    return withoutRecord(id, { state: 'lost', issues, nowMs: now() });
  }
  const key = (await createStoredKeys({ redis, index, audit }).look(id, keyHash))?.key;
  if (key === undefined) return withoutRecord(id, { state: 'gone', issues: [], nowMs: now() });
  if (key.outcome === 'invalid') {
    const state = key.revoked ? 'revoked' : 'unusable';
    const view = withoutRecord(id, { state, issues: key.issues, nowMs: now() });
    return { ...view, refusedUse: await readRefusedUse(redis, keyHash) };
  }
  return describeRecord(session, { keyHash, record: key.record });
}

function withoutRecord(
  id: string,
  options: { state: 'lost' | 'gone' | 'unusable' | 'revoked'; issues: string[]; nowMs: number },
): KeyDetail {
  const { state, issues, nowMs } = options;
  const view = keyView({ outcome: 'invalid', id, issues, revoked: state === 'revoked' }, nowMs);
  return {
    ...withoutWindows(view),
    name: '',
    state,
    issues,
    own: limitsView({}),
    limits: null,
    windows: null,
    strikes: null,
    strikesToBan: null,
    ban: null,
    trial: null,
    refusedUse: [],
    next: refusedForGood(state, { issues }),
    now: new Date(nowMs).toISOString(),
  };
}

async function describeRecord(
  session: Session,
  { keyHash, record }: { keyHash: string; record: ApiKeyRecord },
): Promise<KeyDetail> {
  const { redis } = session;
  const [limits, policy, trial] = await Promise.all([
    createLimitsReader(session)(record),
    ignoreInvalid(createBanPolicyStore(session).show()),
    ignoreInvalid(createKeyTrials(session).show(record.id)),
  ]);
  const use = await readKeyWindows(redis, keyHash, knownLimitsIn(limits), policy);
  const [ban, refusedUse] = await Promise.all([
    readBan(session, { keyHash, record }),
    readRefusedUse(redis, keyHash),
  ]);
  const view = keyView({ outcome: 'record', record }, use.nowMs);
  return {
    ...withoutWindows(view),
    state: view.state === 'valid' && ban !== null ? 'banned' : view.state,
    issues: trial?.issues ?? [],
    own: limitsView(record),
    limits,
    windows: use.windows,
    strikes: use.strikes,
    strikesToBan: banAfter(policy, limits),
    ban,
    trial: await describeTrial(session, trial),
    refusedUse,
    next: nextOf(view.state, { record, use, ban }),
    now: new Date(use.nowMs).toISOString(),
  };
}

function nextOf(
  state: KeyView['state'],
  { record, use, ban }: { record: ApiKeyRecord; use: KeyWindows; ban: BanView | null },
): NextRequest {
  if (state === 'revoked') return refusedForGood(state, { since: record.revokedAt ?? null });
  if (state === 'expired') return refusedForGood(state, { since: record.expiresAt ?? null });
  return nextRequest({ ban, windows: use.windows });
}

async function readBan(
  session: Session,
  { keyHash, record }: { keyHash: string; record: ApiKeyRecord },
): Promise<BanView | null> {
  const bans = createBanStore({ ...session, keys: createApiKeyStore(session) });
  const found = await bans.find(keyHash);
  if (found === undefined) return null;
  const { reason, endsAt } = found;
  const origin = await readBanOrigin(session.redis, { id: record.id, keyHash, endsAt });
  return { reason, until: endsAt, ...origin };
}

function banAfter(policy: BanPolicy | undefined, { minute }: LimitsInForce): number | null {
  if (policy === undefined || !policy.enabled || minute.limit === null) return null;
  return strikesToBan(policy, minute.limit);
}

async function describeTrial({ redis }: Session, key: KeyOnTrial | undefined): Promise<KeyTrialView | null> {
  if (key?.trial === undefined) return null;
  const { from, limits } = key.trial;
  const counts = await readTrialCounts(redis, key.keyHash, limits.since);
  return { from, ...withLimits(limits), since: new Date(limits.since).toISOString(), ...counts };
}
