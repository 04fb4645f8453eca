import { z } from 'zod';
import {
  byPlanField,
  byShadowField,
  defaultPlans,
  describeLimits,
  equalPlanLimits,
  forPlanFields,
  parseLimit,
  planFields,
  shadowIssue,
  type ByPlanField,
} from '../../limits/limits.ts';
import { hasWindow, windowNames, type WindowName } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import {
  anonymousPlan,
  enterprisePlan,
  parsePlanLimits,
  planIssues,
  planNameIssue,
  planNamePattern,
  planSetting,
  windowFields,
  windowsOf,
} from '../../quota/plan-settings.ts';
import { InvalidOperation, UnknownId } from '../invalid-operation.ts';
import { expectUnchanged, OvertakenChange } from '../overtaken-change.ts';
import type { ReadingSession, Session } from '../session.ts';
import { countPlanCustomers } from './plan-customers.ts';
import { anyLimit, readLimitedPlans, readPlanLimits, unknownPlan } from './plan-names.ts';
import {
  changeSettings,
  diffSettings,
  readEnforcedValues,
  readStored,
  removalOf,
  writeSettings,
  type EnforcedValues,
  type SettingChange,
  type StoredSettings,
} from './settings.ts';

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

/** A plan with what running gateways enforce. Gateways load an operator's own plan when a key on it is used. */
export const planSchema = z
  .object({
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
    customers: z.int().nullable().describe('Customers on it, some seconds old; null for `address`'),
  })
  .meta({ id: 'Plan' });

export type Plan = z.infer<typeof planSchema>;

/** Limits to set; null removes one. */
export type LimitChange = ByPlanField<number | null>;

/** What a plan was changed to. */
export const changedPlanSchema = z
  .object({
    name: z.string(),
    ...storedLimitsSchema.shape,
    before: storedLimitsSchema.nullable().describe('Null if it had no limit'),
  })
  .meta({ id: 'ChangedPlan' });

export type ChangedPlan = z.infer<typeof changedPlanSchema>;

/** @param customers how many are on each plan; none, if they are not counted */
export async function readPlans(
  session: ReadingSession,
  customers: ReadonlyMap<string, number> = new Map(),
): Promise<Plan[]> {
  const enforced = await readEnforcedValues(session);
  const names = [...(await readLimitedPlans(session.redis)), anonymousPlan];
  const plans = await Promise.all(
    names.map((name) => readPlan(session.redis, name, enforced, customers.get(name) ?? 0)),
  );
  const { gateways } = enforced;
  const enterprise: Plan = {
    name: enterprisePlan,
    kind: 'own_limits',
    gateways,
    running: gateways,
    enforced: [],
    issues: [],
    customers: customers.get(enterprisePlan) ?? 0,
  };
  return plans.toSpliced(-1, 0, enterprise);
}

async function readPlan(
  redis: RedisClient,
  name: string,
  enforced: EnforcedValues,
  customers: number,
): Promise<Plan> {
  const texts = await readPlanLimits(redis, name);
  const row = parsePlanRow(name, texts);
  const inForce = enforced
    .counted((fieldsOf): StoredLimits | undefined => {
      const fields = fieldsOf(redisKeys.plan(name));
      return Object.keys(fields).length === 0 ? undefined : byPlanField((field) => parseLimit(fields[field]));
    })
    .map(({ value, gateways }) => Object.assign(value, { gateways }));
  const isStored = (limits: StoredLimits) => equalPlanLimits(limits, row);
  const isOfAddress = name === anonymousPlan;
  return {
    ...row,
    kind: isOfAddress ? 'address' : 'plan',
    gateways: inForce.find(isStored)?.gateways ?? 0,
    running: enforced.gateways,
    enforced: inForce.filter((limits) => !isStored(limits)),
    issues: planIssues(name, texts, (text) => `: ${JSON.stringify(text)}`),
    customers: isOfAddress ? null : customers,
  };
}

/**
 * Returns what `setPlan` would change, and changes nothing.
 * @param create makes the plan if it does not exist
 * @throws InvalidOperation for an invalid name, what is no plan with limits of its own, and a plan that would lack a limit;
 * UnknownId for one that does not exist
 */
export async function previewPlan(
  session: ReadingSession,
  name: string,
  limits: LimitChange,
  create: boolean,
): Promise<ChangedPlan> {
  if (!create) await assertPlan(session, name);
  return decide(name, limits, await readStored(session.redis, [planSetting(name)])).changed;
}

/**
 * Changes a plan; limits that are not given stay as they are. In force on all gateways within a second; counters are kept.
 * @param create makes the plan if it does not exist
 * @param expected limits that the caller has seen: with other ones, nothing is changed
 * @throws OvertakenChange, and what `previewPlan` throws
 */
export async function setPlan(
  session: Session,
  name: string,
  limits: LimitChange,
  create: boolean,
  expected: LimitChange = {},
): Promise<ChangedPlan> {
  if (!create) await assertPlan(session, name);
  const { changed } = await changeSettings(session, [planSetting(name)], (stored) => {
    const decided = decide(name, limits, stored);
    const before = decided.changed.before ?? {};
    const now = describeLimits(before, 'invalid');
    const seen = planFields.filter((field) => expected[field] !== undefined);
    const isSame = seen.every((field) => expected[field] === (before[field] ?? null));
    if (!isSame && create)
      throw new OvertakenChange(`the plan ${name} exists already: ${now}. Nothing was changed.`);
    expectUnchanged(isSame, now);
    return decided;
  });
  return changed;
}

/** @throws UnknownId for a plan that does not exist */
export async function assertPlan({ redis }: ReadingSession, name: string): Promise<void> {
  assertOwnLimits(name);
  if ((await redis.exists(redisKeys.plan(name))) === 1) return;
  const names = await readLimitedPlans(redis);
  if (!names.includes(name))
    throw new UnknownId(`${unknownPlan(name, names).message}; with --create, it is made`);
}

/** @throws InvalidOperation if the name is that of no plan, or of one without limits of its own */
function assertOwnLimits(name: string): void {
  if (name === enterprisePlan)
    throw new InvalidOperation('enterprise has no limits of its own: each customer on it has its own limits');
  if (name === anonymousPlan)
    throw new InvalidOperation(
      'anonymous is no plan, but the limit of an address: it is anonymousMinute of the policy',
    );
  assertName(name);
}

/** Does not repeat it: it may be a secret. @throws InvalidOperation if it can be the name of no plan */
function assertName(name: string): void {
  if (!planNamePattern.test(name)) throw new InvalidOperation(`that ${planNameIssue}`);
}

/** Decides on a change of what is stored. @throws InvalidOperation if the plan would lack a limit */
function decide(name: string, limits: LimitChange, stored: StoredSettings) {
  assertOwnLimits(name);
  if (planFields.every((field) => limits[field] === undefined))
    throw new InvalidOperation(`there is nothing to set: give ${anyLimit}`);
  const setting = planSetting(name);
  const present: ByPlanField<string> = stored.get(setting.key) ?? {};
  const { name: _same, ...before } = parsePlanRow(name, present);
  const wanted = forPlanFields((field) =>
    String((limits[field] === undefined ? present : limits)[field] ?? ''),
  );
  const after = parsePlanRow(
    name,
    byPlanField((field) => wanted[field] || undefined),
  );
  const lacking = lackingLimit(after);
  if (lacking !== undefined) {
    if (windowNames.every((window) => after[window] === null))
      throw new InvalidOperation(`${name} needs a limit: give ${anyLimit}`);
    throw new InvalidOperation(`${name} needs a ${lacking} limit: it is a plan of the specification`);
  }
  const issue = shadowIssue(after);
  if (issue !== undefined) throw new InvalidOperation(`${name} ${issue}`);
  const changed: ChangedPlan = { ...after, before: hasWindow(present) ? before : null };
  return { changed, changes: diffSettings(stored, [{ ...setting, wanted }]) };
}

/**
 * Removes a plan that no customer is on. Gateways that run keep its limits until they end, but no customer can be put on it
 * any more. One that is put on it during the count is not seen.
 * @throws InvalidOperation if it is built in, does not exist, or has customers
 */
export async function removePlan(session: Session, name: string): Promise<SettingChange> {
  const { redis } = session;
  assertName(name);
  const lasting = [...Object.keys(defaultPlans), enterprisePlan, anonymousPlan];
  if (lasting.includes(name))
    throw new InvalidOperation(
      `${name} can't be removed: ${new Intl.ListFormat('en-GB').format(lasting)} always exist`,
    );
  const setting = planSetting(name);
  const stored = await redis.hgetall(setting.key);
  if (Object.keys(stored).length === 0) {
    const names = await readLimitedPlans(redis);
    if (!names.includes(name)) throw new UnknownId(unknownPlan(name, names).message);
  }
  const count = (await countPlanCustomers(redis)).get(name) ?? 0;
  if (count > 0)
    throw new InvalidOperation(
      `${count} ${count === 1 ? 'customer is' : 'customers are'} on ${name}: move them to another plan first; no plan was removed`,
    );
  const removal = removalOf(setting, stored);
  await writeSettings(session, [removal]);
  return removal;
}

/** The limit that gateways need and that is missing or invalid. */
export function lackingLimit({ name, ...limits }: PlanRow): WindowName | undefined {
  if (name === enterprisePlan) return undefined;
  return windowsOf(name).find((window) => limits[window] === null);
}

function parsePlanRow(name: string, texts: ByPlanField<string>): PlanRow {
  return { name, ...parsePlanLimits(name, texts) };
}
