import { Cluster } from 'ioredis';
import { z } from 'zod';
import { describeLimits, equalLimits, knownIn, maxLimit } from '../limits/limits.ts';
import { byWindow, forAll, forRequired } from '../limits/windows.ts';
import { anonymousPlan } from '../plans/plan-settings.ts';
import { textFields } from '../redis/enforced-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { readAuditPage, type AuditEntry } from './audit-log.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { readPlanNames, unknownPlan } from './plan-names.ts';
import {
  lacksLimits,
  parsePlanRow,
  readPlanLimits,
  storedLimitsSchema,
  type PlanChange,
  type PlanRow,
  type StoredLimits,
} from './plans.ts';
import type { Session } from './session.ts';
import { changeSettings } from './settings-hash.ts';

/** A change of a plan's limits that an entry of the audit log tells of. */
export const recordedPlanChangeSchema = z.object({
  id: z.string().describe('Of the entry in the audit log'),
  at: z.iso.datetime(),
  who: z.string(),
  action: z.string(),
  before: storedLimitsSchema,
  after: storedLimitsSchema,
});

export type RecordedPlanChange = z.infer<typeof recordedPlanChangeSchema>;

/** The last change of a plan's limits, with the reason why it cannot be undone if there is one. */
export interface LastPlanChange extends RecordedPlanChange {
  obstacle: string | undefined;
}

/** Entries of the audit log to look at. */
const maxScanned = 20_000;
const pageSize = 50;

/**
 * Finds the newest change of the plan's limits among the newest 20,000 entries of the audit log.
 * @returns undefined without such a change
 */
export async function findLastPlanChange(
  { redis }: Pick<Session, 'redis'>,
  name: string,
): Promise<LastPlanChange | undefined> {
  const stored = parsePlanRow(name, await readPlanLimits(redis, name));
  const last = await findRecorded(redis, stored);
  return last && { ...last, obstacle: findObstacle(last, stored) };
}

/** The newest change that was made. */
async function findRecorded(redis: RedisClient, stored: PlanRow): Promise<RecordedPlanChange | undefined> {
  const filter = { action: 'plans.', targets: [stored.name] };
  const notMade = new Set<string>();
  let next: string | undefined;
  for (let scanned = 0; scanned < maxScanned; scanned += pageSize) {
    const page = await readAuditPage(redis, { filter, count: pageSize, before: next, maxScanned });
    for (const entry of page.entries) {
      if (entry.notMade !== undefined) notMade.add(entry.notMade);
      else if (!notMade.has(entry.id)) {
        const change = describeEntry(entry);
        if (!equalLimits(change.before, change.after) && !isLeftOver(redis, change, stored)) return change;
      }
    }
    if (page.next === undefined || page.entries.length < pageSize) return undefined;
    next = page.next;
  }
  return undefined;
}

export interface PlanUndo extends PlanChange {
  undone: RecordedPlanChange;
}

/**
 * Writes the limits back that the plan had before its last change, if nobody has changed them since. That is a change
 * which can be undone as well. A plan whose last change was its removal exists again.
 * @param approve called before the change with the one that is undone; refuses it by throwing
 * @throws InvalidOperation as `previewPlanUndo` does
 */
export async function undoPlanChange(
  session: Session,
  name: string,
  approve?: (undone: RecordedPlanChange) => void,
): Promise<PlanUndo> {
  const { redis } = session;
  const { undo } = await changeSettings(session, redisKeys.plan(name), async (fields) => {
    const stored = parsePlanRow(name, fields);
    const undone = await requireRecorded(redis, stored);
    approve?.(undone);
    const undo = decide(undone, stored);
    // The list first: if this is interrupted, the same command completes it.
    if (name !== anonymousPlan) await redis.sadd(redisKeys.planNames, name);
    const { before, after } = undo;
    const restored = byWindow((window) => after[window] ?? (before[window] === undefined ? undefined : ''));
    return {
      undo,
      fields: textFields(restored),
      entry: { action: 'plans.undo', target: name, before, after },
    };
  });
  return undo;
}

/**
 * Returns what `undoPlanChange` would change, and changes nothing.
 * @throws InvalidOperation for a plan that does not exist, with the name of the nearest one that does; if the audit log has
 * no change of its limits; if that cannot be undone
 */
export async function previewPlanUndo({ redis }: Pick<Session, 'redis'>, name: string): Promise<PlanUndo> {
  const stored = parsePlanRow(name, await readPlanLimits(redis, name));
  return decide(await requireRecorded(redis, stored), stored);
}

async function requireRecorded(redis: RedisClient, stored: PlanRow): Promise<RecordedPlanChange> {
  const last = await findRecorded(redis, stored);
  if (last !== undefined) return last;
  const { name } = stored;
  const names = [...(await readPlanNames(redis)), anonymousPlan];
  if (!names.includes(name)) throw unknownPlan(name, names);
  throw new InvalidOperation(`the audit log has no change of the limits of ${name}`);
}

/** Whether an operation in Redis Cluster was killed between its entry and its change. Elsewhere both are one step. */
function isLeftOver(redis: RedisClient, { before, after }: RecordedPlanChange, stored: PlanRow): boolean {
  return redis instanceof Cluster && equalLimits(stored, before) && !equalLimits(stored, after);
}

function decide(undone: RecordedPlanChange, before: PlanRow): PlanUndo {
  const obstacle = findObstacle(undone, before);
  if (obstacle !== undefined) throw new InvalidOperation(obstacle);
  return { before, after: { name: before.name, ...undone.before }, undone };
}

/** @returns why the change cannot be undone */
function findObstacle(
  { before, after }: RecordedPlanChange,
  { name, ...stored }: PlanRow,
): string | undefined {
  if (Object.keys(knownIn(before)).length === 0) return `there is nothing before the first limits of ${name}`;
  if (lacksLimits({ name, ...before })) {
    return `the limits of ${name} before its last change were invalid`;
  }
  if (equalLimits(stored, after)) return undefined;
  return (
    `the limits of ${name} are no longer those of its last change in the audit log, ${describeLimits(after, 'invalid')}: ` +
    `they are ${describeLimits(stored, 'invalid')}, perhaps set with redis-cli`
  );
}

const limit = z.int().min(1).max(maxLimit).nullable().catch(null);
/** Null for a required limit that is invalid or missing. */
const limits = z
  .object({ ...forAll(() => limit.optional()) })
  .transform((parsed): StoredLimits => ({ ...forRequired(null), ...byWindow((name) => parsed[name]) }))
  .catch(forRequired(null));

/** Describes an entry. It may have been added by hand: what is no limit counts as none. */
function describeEntry({ id, at, who, action, before, after }: AuditEntry): RecordedPlanChange {
  return { id, at, who, action, before: limits.parse(before), after: limits.parse(after) };
}
