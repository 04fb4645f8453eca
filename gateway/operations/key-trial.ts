import type { CustomerLimits } from '../api-keys/customer-record.ts';
import { completeLimits, limitsIn, type Limits, type SomeLimits } from '../limits/limits.ts';
import { limitedAt } from '../limits/temporary-limits.ts';
import { enterprisePlan } from '../plans/plan-settings.ts';
import {
  parseTrial,
  trialFields,
  trialLimitsOf,
  type ParsedTrial,
  type TrialLimits,
} from '../plans/trial.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { unlessWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { showLimited, updateLimits, type Limited } from './limited.ts';
import { readStoredLimits } from './limits-in-force.ts';
import { newTrial, noTrial, validTrial } from './plan-trial.ts';
import type { ReadingSession, Session } from './session.ts';

/** A customer, or a key of one, with the limits in force and those on trial. */
export interface KeyOnTrial {
  place: KeyPlace;
  record: Limited;
  /** Undefined if a limit of the plan is missing or invalid. */
  limits: Limits | undefined;
  /** Undefined if there is no trial. `key` stands for that of the customer itself. */
  trial: { from: 'key' | 'plan'; limits: TrialLimits } | undefined;
  /** What is wrong with the fields of a trial of the customer or its plan. */
  issues: string[];
}

export interface KeyTrialChange {
  before: Limited;
  after: Limited;
}

/** Trial in a hash. */
interface StoredTrial extends ParsedTrial {
  /** Whether the hash has any of its fields, even invalid ones. */
  present: boolean;
}

async function readTrial(redis: RedisClient, hashKey: string): Promise<StoredTrial> {
  const texts = await unlessWrongType(redis.hmget(hashKey, ...trialFields), undefined);
  if (texts === undefined) return { trial: undefined, issues: ['is not a hash'], present: false };
  const parsed = parseTrial(Object.fromEntries(trialFields.map((field, index) => [field, texts[index]])));
  return { ...parsed, present: texts.some((text) => text !== null) };
}

/**
 * A customer with its trial, which goes before that of its plan. This function and those that change it take the id of the
 * customer or of one of its keys, and throw InvalidOperation if there is none, or its record is invalid.
 */
export async function showTrial({ redis, now }: ReadingSession, id: string): Promise<KeyOnTrial> {
  const { place, record } = await showLimited(redis, id);
  const [stored, own, ofPlan] = await Promise.all([
    readStoredLimits({ redis, now }, record),
    readTrial(redis, redisKeys.customer(record.customerId)),
    record.plan === enterprisePlan ? undefined : readTrial(redis, redisKeys.plan(record.plan)),
  ]);
  const limits = completeLimits(stored);
  const trial = limits && trialLimitsOf(limitedAt(record, now()), ofPlan?.trial, limits);
  return {
    place,
    record,
    limits,
    trial: trial && { from: record.trial === undefined ? 'plan' : 'key', limits: trial },
    issues: [
      ...own.issues,
      ...(ofPlan?.issues ?? []).map((issue) => `${redisKeys.plan(record.plan)}: ${issue}`),
    ],
  };
}

/**
 * Starts a trial, or replaces the one that runs; the counts start over. In force from the next request of any of its keys on, like
 * all changes. A window that is not named stays as enforced.
 * @throws InvalidOperation for a revoked key
 */
export function startTrial(session: Session, id: string, limits: SomeLimits): Promise<KeyTrialChange> {
  return changeTrial(session, id, 'keys.trial', (record) => {
    if (record.revokedAt !== undefined) throw new InvalidOperation(`the key ${id} is revoked`);
    return { ...record, trial: newTrial(limits, session.now(), record.trial) };
  });
}

/** @throws InvalidOperation if the customer has no trial of its own */
export function stopTrial(session: Session, id: string): Promise<KeyTrialChange> {
  return changeTrial(session, id, 'keys.trial-stop', (record, { present }) => {
    if (!present) throw noTrial(itself(id));
    return { ...record, trial: undefined };
  });
}

/** Makes the limits on trial own limits of the customer and ends the trial, in one step. @throws InvalidOperation as stopTrial does */
export function applyTrial(session: Session, id: string): Promise<KeyTrialChange> {
  return changeTrial(session, id, 'keys.trial-apply', (record, { issues }) => {
    const trial = validTrial({ trial: record.trial, issues }, itself(id));
    return { ...record, ...limitsIn(trial), trial: undefined };
  });
}

async function changeTrial(
  session: Session,
  id: string,
  action: AuditAction,
  edit: (record: Limited, own: StoredTrial) => CustomerLimits,
): Promise<KeyTrialChange> {
  let before: Limited | undefined;
  const after = await updateLimits(session, id, action, async (record) => {
    before = record;
    return edit(record, await readTrial(session.redis, redisKeys.customer(record.customerId)));
  });
  if (before === undefined) throw new Error(`${action} has decided nothing`);
  return { before, after };
}

const itself = (id: string) => `the customer ${isCustomerId(id) ? '' : 'of '}${id} itself`;
