import { z } from 'zod';
import { knownIn, parseLimit } from '../../limits/limits.ts';
import {
  byPlanField,
  byShadowField,
  equalPlanLimits,
  planFields,
  shadowIssue,
  type ByPlanField,
} from '../../limits/shadow-limits.ts';
import { windowFields } from '../../limits/window-fields.ts';
import { hasWindow, windowNames, type WindowName } from '../../limits/windows.ts';
import { textFields } from '../../platform/redis/enforced-settings.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import {
  anonymousPlan,
  enterprisePlan,
  parsePlanLimits,
  planIssues,
  planNamePattern,
  windowsOf,
} from '../../quota/plan-settings.ts';
import { changeHash } from '../change-hash.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import type { ReadingSession, Session } from '../session.ts';
import { readEnforcedValues, type EnforcedValues } from './enforced-values.ts';
import { comparePlanNames, unknownPlan } from './plan-names.ts';

/** A plan as operators see it. Null is an invalid limit, or one that a plan must have. */
export type PlanRow = StoredLimits & { name: string };

const storedLimit = () => z.int().nullable().describe('Null is an invalid or missing one');

export const storedLimitsSchema = z
  .object({ ...windowFields(storedLimit), ...byShadowField(() => z.exactOptional(storedLimit())) })
  .meta({ id: 'SomeLimits' });

export type StoredLimits = z.infer<typeof storedLimitsSchema>;

/**
 * Whose limits they are: those of each customer on the plan; none, since each customer has its own; or those of an address
 * that sends requests without a valid key.
 */
const planKinds = ['plan', 'own_limits', 'address'] as const;

const listedPlanSchema = z.object({
  name: z.string(),
  kind: z
    .enum(planKinds)
    .describe('`own_limits`: each customer has its own; `address`: requests without a valid key'),
  ...storedLimitsSchema.shape,
  gateways: z.int().describe('Gateways that enforce what is stored'),
  running: z.int().describe('Gateways that run'),
  enforced: z
    .array(z.object({ ...storedLimitsSchema.shape, gateways: z.int() }))
    .describe('What other gateways enforce'),
  issues: z.array(z.string()).describe('What is wrong with what is stored'),
});

/** A plan with what running gateways enforce. Gateways load an operator's own plan when a key on it is used. */
export type ListedPlan = z.infer<typeof listedPlanSchema>;

export const planSchema = listedPlanSchema
  .extend({
    customers: z.int().nullable().describe('Customers on it, some seconds old; null for `address`'),
  })
  .meta({ id: 'Plan' });

export type Plan = z.infer<typeof planSchema>;

/** Options of the command, of which one is enough. */
export const anyLimit = windowNames.map((name) => `--${name} N`).join(' or ');

/** Limits to set; null removes one. */
export type LimitChange = ByPlanField<number | null>;

export interface PlanChange {
  before: PlanRow;
  after: PlanRow;
}

export async function readPlans({ redis, now }: ReadingSession): Promise<ListedPlan[]> {
  const enforced = await readEnforcedValues({ redis, now });
  const { listed, enforcedOnly, lost } = await comparePlanNames(redis, enforced);
  // Without gw:plans, only the gateways know the operators' own plans.
  const names = lost ? [...listed, ...enforcedOnly] : listed;
  const plans = await Promise.all([...names, anonymousPlan].map((name) => readRow(redis, name, enforced)));
  const { gateways } = enforced;
  const enterprise: ListedPlan = {
    name: enterprisePlan,
    kind: 'own_limits',
    gateways,
    running: gateways,
    enforced: [],
    issues: [],
  };
  return plans.toSpliced(-1, 0, enterprise);
}

async function readRow(redis: RedisClient, name: string, enforced: EnforcedValues): Promise<ListedPlan> {
  const texts = await readPlanLimits(redis, name);
  const row = parsePlanRow(name, texts);
  const inForce = enforced
    .counted((fieldsOf): StoredLimits | undefined => {
      const fields = fieldsOf(redisKeys.plan(name));
      return Object.keys(fields).length === 0 ? undefined : byPlanField((field) => parseLimit(fields[field]));
    })
    .map(({ value, gateways }) => Object.assign(value, { gateways }));
  const isStored = (limits: StoredLimits) => equalPlanLimits(limits, row);
  return {
    ...row,
    kind: name === anonymousPlan ? 'address' : 'plan',
    gateways: inForce.find(isStored)?.gateways ?? 0,
    running: enforced.gateways,
    enforced: inForce.filter((limits) => !isStored(limits)),
    issues: planIssues(name, texts, (text) => `: ${JSON.stringify(text)}`),
  };
}

/**
 * Returns what `setPlan` would change, and changes nothing.
 * @param create makes the plan if it does not exist
 * @throws InvalidOperation for an invalid name, enterprise, a day limit of anonymous, a plan that does not exist, with the
 * name of the nearest one that does, and a plan that would lack a limit
 */
export async function previewPlan(
  session: ReadingSession,
  name: string,
  limits: LimitChange,
  create: boolean,
): Promise<PlanChange> {
  await assertSettable(session, name, limits, create);
  return decide(name, limits, await readPlanLimits(session.redis, name));
}

/**
 * Changes a plan; limits that are not given stay as they are. In force on all gateways within a second; counters are kept.
 * @param create makes the plan if it does not exist
 * @param approve called before the change; refuses it by throwing InvalidOperation
 * @throws InvalidOperation as `previewPlan` does
 */
export async function setPlan(
  session: Session,
  name: string,
  limits: LimitChange,
  create: boolean,
  approve?: (change: PlanChange) => void,
): Promise<PlanChange> {
  await assertSettable(session, name, limits, create);
  const { before, after } = await changeHash(session, redisKeys.plan(name), async (fields) => {
    const change = decide(name, limits, fields);
    approve?.(change);
    if (name !== anonymousPlan) await session.redis.sadd(redisKeys.planNames, name);
    const { before, after } = change;
    return {
      before,
      after,
      fields: textFields(byPlanField((field) => (limits[field] === null ? '' : limits[field]))),
      entry: { action: 'plans.set', target: name, before: hasWindow(knownIn(before)) ? before : null, after },
    };
  });
  return { before, after };
}

async function assertSettable(
  { redis, now }: ReadingSession,
  name: string,
  limits: LimitChange,
  create: boolean,
): Promise<void> {
  assertPlan(name, limits);
  if (create) return;
  const [enforced, stored] = await Promise.all([
    readEnforcedValues({ redis, now }),
    redis.exists(redisKeys.plan(name)),
  ]);
  const { listed, enforcedOnly } = await comparePlanNames(redis, enforced);
  const names = [...listed, anonymousPlan, ...enforcedOnly];
  if (stored !== 1 && !names.includes(name)) throw unknownPlan(name, names, '--create makes a new plan');
}

/**
 * Decides on a change of the stored fields.
 * @throws InvalidOperation if the plan would lack a limit
 */
function decide(name: string, limits: LimitChange, fields: ByPlanField<string>): PlanChange {
  const before = parsePlanRow(name, fields);
  const after = parsePlanRow(
    name,
    byPlanField((field) => (limits[field] === undefined ? fields[field] : limits[field]?.toString())),
  );
  const lacking = lackingLimit(after);
  if (lacking !== undefined) {
    if (windowNames.every((window) => after[window] === null))
      throw new InvalidOperation(`${name} needs a limit: give ${anyLimit}`);
    if (limits[lacking] === null)
      throw new InvalidOperation(`${name} needs a ${lacking} limit: it is a plan of the specification`);
    throw new InvalidOperation(`${name} has no valid ${lacking} limit in Redis: add --${lacking} N`);
  }
  const issue = shadowIssue(after);
  if (issue !== undefined) throw new InvalidOperation(`${name} ${issue}`);
  return { before, after };
}

/** @throws InvalidOperation for input that is invalid whatever is stored */
function assertPlan(name: string, limits: LimitChange): void {
  if (name === enterprisePlan) {
    throw new InvalidOperation(
      'enterprise has no limits of its own: set them for each customer, with ops customers set',
    );
  }
  if (!planNamePattern.test(name)) {
    throw new InvalidOperation(
      'that is not a valid plan name: use up to 32 lower-case letters, digits and dashes, and begin with a letter',
    );
  }
  if (name === anonymousPlan) {
    const others = planFields.filter((field) => !windowsOf(name).some((window) => window === field));
    if (others.some((window) => limits[window] !== undefined))
      throw new InvalidOperation('anonymous has a minute limit only');
    if (limits.minute === undefined) throw new InvalidOperation('anonymous needs --minute N');
  } else if (planFields.every((field) => limits[field] === undefined)) {
    throw new InvalidOperation(`there is nothing to set: give ${anyLimit}`);
  }
}

/** The limit that gateways need and that is missing or invalid. */
export function lackingLimit({ name, ...limits }: PlanRow): WindowName | undefined {
  if (name === enterprisePlan) return undefined;
  return windowsOf(name).find((window) => limits[window] === null);
}

export function parsePlanRow(name: string, texts: ByPlanField<string>): PlanRow {
  return { name, ...parsePlanLimits(name, texts) };
}

/** Reads the limits of a plan as text. */
export async function readPlanLimits(redis: RedisClient, name: string): Promise<ByPlanField<string>> {
  const texts = await redis.hmget(redisKeys.plan(name), ...planFields);
  return byPlanField((field) => texts[planFields.indexOf(field)] ?? undefined);
}
