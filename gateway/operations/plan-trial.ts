import { keyPrefix } from '../config/key-prefix.ts';
import { completeLimits, limitsIn, parseLimit, type Limits, type SomeLimits } from '../limits/limits.ts';
import { byWindow, windowNames } from '../limits/windows.ts';
import { anonymousPlan, builtInPlans, enterprisePlan } from '../plans/plan-settings.ts';
import { formatTrial, parseTrial, trialFields, type Trial } from '../plans/trial.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import type { Fields } from '../redis/define-setting.ts';
import { textFields } from '../redis/enforced-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { unknownPlan } from './plan-names.ts';
import type { Session } from './session.ts';
import { changeSettings, readSettings } from './settings-hash.ts';

/** A plan with the limits in force and those on trial. */
export interface PlanOnTrial {
  name: string;
  limits: Limits;
  /** Undefined if no limits are on trial, or if they are invalid. */
  trial: Trial | undefined;
  /** What is wrong with the fields of the trial, which is then off. */
  issues: string[];
}

export interface PlanTrialChange {
  before: PlanOnTrial;
  after: PlanOnTrial;
}

/** Called before a change; refuses it by throwing. */
type ApproveTrialChange = (change: PlanTrialChange) => void;

/**
 * A plan with its trial. This function and those that change it throw InvalidOperation for enterprise and anonymous, and for a
 * plan that has no valid limits in Redis.
 */
export async function showPlanTrial({ redis }: Pick<Session, 'redis'>, name: string): Promise<PlanOnTrial> {
  assertHasTrials(name);
  return parsePlan(redis, name, await readSettings(redis, redisKeys.plan(name)));
}

/**
 * Starts a trial, or replaces the one that runs; the counts start over. In force on all gateways within a second, like all changes.
 * A window that is not named stays as enforced.
 */
export function startPlanTrial(
  session: Session,
  name: string,
  limits: SomeLimits,
  approve?: ApproveTrialChange,
): Promise<PlanTrialChange> {
  return changeTrial(session, name, 'plans.trial', approve, (plan) => {
    const trial = newTrial(limits, session.now(), plan.trial);
    return { ...plan, trial, issues: [] };
  });
}

/** @throws InvalidOperation if there is no trial */
export function stopPlanTrial(
  session: Session,
  name: string,
  approve?: ApproveTrialChange,
): Promise<PlanTrialChange> {
  return changeTrial(session, name, 'plans.trial-stop', approve, (plan, fields) => {
    // Invalid fields are removed, too.
    if (!trialFields.some((field) => Object.hasOwn(fields, field))) throw noTrial(`the plan ${name}`);
    return { ...plan, trial: undefined, issues: [] };
  });
}

/** Makes the limits on trial the limits of the plan and ends the trial, in one step. @throws InvalidOperation as stopPlanTrial does */
export function applyPlanTrial(
  session: Session,
  name: string,
  approve?: ApproveTrialChange,
): Promise<PlanTrialChange> {
  return changeTrial(session, name, 'plans.trial-apply', approve, (plan) => {
    const limits = { ...plan.limits, ...limitsIn(validTrial(plan, `the plan ${name}`)) };
    return { ...plan, limits, trial: undefined };
  });
}

/** @param edit returns the plan as it should be */
async function changeTrial(
  session: Session,
  name: string,
  action: AuditAction,
  approve: ApproveTrialChange | undefined,
  edit: (plan: PlanOnTrial, fields: Fields) => PlanOnTrial,
): Promise<PlanTrialChange> {
  assertHasTrials(name);
  return changeSettings(session, redisKeys.plan(name), async (fields) => {
    const before = await parsePlan(session.redis, name, fields);
    const after = edit(before, fields);
    approve?.({ before, after });
    return {
      before,
      after,
      fields: { ...textFields(after.limits), ...formatTrial(after.trial) },
      entry: { action, target: name, before: auditView(before), after: auditView(after) },
    };
  });
}

async function parsePlan(redis: RedisClient, name: string, fields: Fields): Promise<PlanOnTrial> {
  const limits = completeLimits(byWindow((window) => parseLimit(fields[window])));
  if (Object.keys(fields).length === 0) await assertListed(redis, name);
  if (limits === undefined) {
    throw new InvalidOperation(
      `the plan ${name} has no valid limits in Redis: set them with ops plans set; see: ops plans list`,
    );
  }
  return { name, limits, ...parseTrial(fields) };
}

/** @throws InvalidOperation for a plan that does not exist, with the name of the nearest one that does */
async function assertListed(redis: RedisClient, name: string): Promise<void> {
  const names = [...builtInPlans.keys(), ...(await redis.smembers(redisKeys.planNames))];
  if (!names.includes(name)) throw unknownPlan(name, names);
}

/**
 * A trial that starts now.
 * @param running the one that it replaces, from which it has to differ by its start
 * @throws InvalidOperation without a limit
 */
export function newTrial(limits: SomeLimits, nowMs: number, running: Trial | undefined): Trial {
  if (windowNames.every((name) => limits[name] === undefined)) {
    throw new InvalidOperation('a trial needs a limit: --minute N, --day N or both');
  }
  return { ...limits, since: nowMs === running?.since ? nowMs + 1 : nowMs };
}

/** @throws InvalidOperation if there is no trial, or it is invalid */
export function validTrial({ trial, issues }: Pick<PlanOnTrial, 'trial' | 'issues'>, target: string): Trial {
  if (trial !== undefined) return trial;
  if (issues.length > 0)
    throw new InvalidOperation(`the trial of ${target} is invalid: ${issues.join('; ')}`);
  throw noTrial(target);
}

export function noTrial(target: string): InvalidOperation {
  return new InvalidOperation(`no limits are on trial for ${target}: --minute N and --day N start a trial`);
}

/** @throws InvalidOperation for what is no plan with limits of its own */
function assertHasTrials(name: string): void {
  // A pasted API key must not get into a Redis command, and so into its slow log.
  if (name.startsWith(keyPrefix()))
    throw new InvalidOperation('this is an API key and not the name of a plan');
  if (name === enterprisePlan) {
    throw new InvalidOperation(
      'enterprise has no limits of its own: start a trial for each customer, with ops keys trial',
    );
  }
  if (name === anonymousPlan) {
    throw new InvalidOperation(
      'anonymous is the limit of an address; only limits of API keys can be on trial',
    );
  }
}

function auditView({ name, limits, trial }: PlanOnTrial): object {
  return { name, ...limits, trial: trial ?? null };
}
