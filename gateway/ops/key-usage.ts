import type { Redis } from 'ioredis';
import { nothingChanges } from './redis-connection.ts';
import { type ApiKeyRecord, apiKeyState } from '../api-keys/api-key-record.ts';
import { type ApiKeyStore, createApiKeyStore } from '../api-keys/api-key-store.ts';
import { anyRev } from '../api-keys/api-keys.ts';
import { StoreRefusal } from '../api-keys/store-refusal.ts';
import { type BanPolicy } from '../quota/ban-policy.ts';
import { createBanPolicyStore } from '../quota/ban-policy-store.ts';
import { createBanStore } from '../quota/ban-store.ts';
import { type Limits, parseLimit } from '../quota/limits.ts';
import { readPlanLimits } from '../quota/plan-store.ts';
import { readUsage, type UsedWindow } from '../quota/usage.ts';

const now = () => Date.now();

/** What operators see of a key's use. */
export interface KeyUsage {
  id: string;
  name: string;
  plan: string;
  state: string;
  minute: ShownWindow;
  day: ShownWindow;
  /** Refused requests that count towards a ban now. */
  violations: number;
  ban: { reason: string; endsAt: string } | null;
}

interface ShownWindow {
  used: number;
  limit: number;
  remaining: number;
  /** ISO 8601 in UTC. */
  resetsAt: string;
}

/** Reads the use of keys, one by one, with the policy read once. */
export async function createUsageReader(redis: Redis) {
  const keys = createApiKeyStore({ redis, audit: nothingChanges, now });
  const bans = createBanStore({ redis, keys, audit: nothingChanges, now });
  const policy = await createBanPolicyStore({ redis, audit: nothingChanges }).show();
  return { policy, read: (id: string) => readKeyUsage(redis, keys, bans, policy, id) };
}

async function readKeyUsage(
  redis: Redis,
  keys: ApiKeyStore,
  bans: Pick<ReturnType<typeof createBanStore>, 'find'>,
  policy: BanPolicy,
  id: string,
): Promise<KeyUsage> {
  const { sha, record } = await keys.show(id);
  const limits = await limitsOf(redis, record);
  const [usage, ban] = await Promise.all([
    readUsage(redis, { sha, rev: anyRev, limits, banPolicy: policy }),
    bans.find(sha),
  ]);
  if (usage === undefined) throw new Error('read-usage-5.lua compared a rev that it was told not to');
  const { minute, day, violations, nowMs } = usage;
  return {
    id,
    name: record.name,
    plan: record.plan,
    state: ban === undefined ? apiKeyState(record, now()) : 'banned',
    minute: shownWindow(minute, nowMs),
    day: shownWindow(day, nowMs),
    violations,
    ban: ban ?? null,
  };
}

/** @throws StoreRefusal where the plan has no usable limits, as after an edit by hand */
async function limitsOf(redis: Redis, { plan, minute, day }: ApiKeyRecord): Promise<Limits> {
  const [minuteText, dayText] = await readPlanLimits(redis, plan);
  const limits = { minute: minute ?? parseLimit(minuteText), day: day ?? parseLimit(dayText) };
  if (limits.minute === undefined || limits.day === undefined) {
    throw new StoreRefusal(`the plan ${JSON.stringify(plan)} has no usable limits; see: ops plans list`);
  }
  return { minute: limits.minute, day: limits.day };
}

function shownWindow({ used, limit, remaining, resetMs }: UsedWindow, nowMs: number): ShownWindow {
  return { used, limit, remaining, resetsAt: new Date(nowMs + resetMs).toISOString() };
}
