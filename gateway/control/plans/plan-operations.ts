import { z } from 'zod';
import { describeLimits, doubtInWords, knownIn } from '../../limits/limits.ts';
import { byShadowField, forPlanFields, planFields } from '../../limits/shadow-limits.ts';
import { byWindow, eachExactly } from '../../limits/windows.ts';
import { planNamePattern, planValues } from '../../quota/plan-settings.ts';
import { unchangedFields, type ChangedField } from '../audit/audit-log.ts';
import { InvalidOperation, UnknownId } from '../invalid-operation.ts';
import { listOf } from '../list-schemas.ts';
import { change, list, read, type OperationContext, type OptionForm } from '../operation.ts';
import { expectUnchanged, OvertakenChange } from '../overtaken-change.ts';
import type { Session } from '../session.ts';
import { aboveInWords, customerAboveSchema, findBusiestAbove } from './plan-customers.ts';
import {
  lackingLimit,
  planSchema,
  previewPlan,
  readPlans,
  setPlan,
  storedLimitsSchema,
  type LimitChange,
  type ListedPlan,
  type Plan,
  type PlanChange,
  type PlanRow,
} from './plans.ts';
import { removePlan } from './remove-plan.ts';

const limits = planValues.shape;
/** Null removes a limit. */
const nullable = forPlanFields((field) => limits[field].nullable());
const seen = z.object({
  expected: z
    .strictObject(nullable)
    .describe(
      'The limits as they were read, null for an invalid one or none; with other ones stored, the answer is 409',
    ),
});

/** Not in a message: it may be a pasted API key. */
const newName = z
  .string()
  .regex(
    planNamePattern,
    'A plan name has up to 32 lower-case letters, digits and dashes, and begins with a letter.',
  );

const above = z
  .array(customerAboveSchema)
  .describe('Which of the ten busiest customers of the plan in the last minute have used up such limits now');
export const planPreviewSchema = z.object({ above });

const changedPlanSchema = z
  .object({ name: z.string(), ...storedLimitsSchema.shape, before: storedLimitsSchema })
  .meta({ id: 'ChangedPlan' });

/** All plans with the numbers of their customers. */
async function viewPlans(session: Session, { planCustomers }: OperationContext): Promise<Plan[]> {
  const [plans, customers] = await Promise.all([readPlans(session), planCustomers(session)]);
  return plans.map((plan) =>
    Object.assign({}, plan, {
      customers: plan.kind === 'address' ? null : (customers.get(plan.name) ?? 0),
    }),
  );
}

/** @throws UnknownId */
function findPlan<Plan extends ListedPlan>(plans: readonly Plan[], name: string): Plan {
  const plan = plans.find((plan) => plan.name === name);
  if (plan === undefined) throw new UnknownId('there is no plan of this name');
  return plan;
}

/** @throws UnknownId, and InvalidOperation for what is no plan with limits of its own */
async function assertEditable(session: Session, name: string): Promise<void> {
  switch (findPlan(await readPlans(session), name).kind) {
    case 'plan':
      return;
    case 'own_limits':
      throw new InvalidOperation(
        `the plan ${name} has no limits of its own: each customer on it has its own limits.`,
      );
    case 'address':
      throw new InvalidOperation(
        'this is the limit of an address, and no plan: change it at /api/settings/anonymous.',
      );
  }
}

/** Limits that are usually a mistake, in words. */
const doubtsOf = ({ after: { name, ...after } }: PlanChange) => doubtInWords(name, knownIn(after));

function viewChange({ before: { name: _same, ...before }, after }: PlanChange) {
  return { ...after, before };
}

/** Of the command: null before if there was no limit. */
type ChangeOfCommand = PlanRow & {
  before: LimitChange | null;
  customers?: number;
  above?: z.infer<typeof above>;
};

function commandView(change: PlanChange): ChangeOfCommand {
  const { before, ...after } = viewChange(change);
  return { ...after, before: Object.keys(knownIn(before)).length === 0 ? null : before };
}

/** Which limits differ, and who is above the new ones. */
function changedFields({ name, before, customers, above = [], ...after }: ChangeOfCommand): ChangedField[] {
  return [
    ...unchangedFields({ name }),
    ...planFields
      .filter((field) => before?.[field] !== undefined || after[field] !== undefined)
      .map((field) => ({ field, before: before?.[field], after: after[field] })),
    ...(customers === undefined ? [] : unchangedFields({ customers })),
    ...above.flatMap((customer) => unchangedFields({ 'above them now': aboveInWords(customer) })),
  ];
}

const limitOptions: Record<string, OptionForm> = {
  ...byWindow((name) => ({ says: `limit of requests ${eachExactly(name)}, or "none"`, nothing: 'none' })),
  ...byShadowField((name) => ({
    says: `limit of requests ${eachExactly(name)} that is counted and not enforced, or "none"`,
    nothing: 'none',
  })),
};

/** Limits of the plans. A change is in force on all gateways within a second. */
export const planOperations = [
  list({
    operationId: 'listPlans',
    http: 'GET /plans',
    command: {
      usage: 'plans list',
      says: 'all plans; enterprise customers have their own limits, anonymous is the limit of an address',
      examples: ['plans list'],
      columns: {
        PLAN: 'name',
        ...Object.fromEntries(planFields.map((field) => [headingOf(field), field])),
        CUSTOMERS: 'customers',
        GATEWAYS: ({ gateways, running }) => `${gateways} of ${running}`,
        'ENFORCED BY OTHER GATEWAYS': enforcedInWords,
      },
      sparse: [...planFields.map(headingOf), 'ENFORCED BY OTHER GATEWAYS'],
      csv: ['name', ...planFields, 'gateways', 'customers'],
    },
    summary: 'All plans',
    responds: 'Plans',
    result: listOf(planSchema),
    async run(session, { context }) {
      const plans = await viewPlans(session, context);
      const lacking = plans.filter((plan) => lackingLimit(plan) !== undefined).map(({ name }) => name);
      if (lacking.length > 0) {
        context.warn(
          `no valid limits are set for ${lacking.join(', ')}: running gateways keep what they enforce; if there ` +
            'are none, a gateway that starts uses the defaults, and sets those that were never set; see: ops plans set --help',
        );
      }
      return plans;
    },
  }),
  read({
    operationId: 'getPlan',
    http: 'GET /plans/:name',
    summary: 'One plan',
    responds: 'The plan',
    result: planSchema,
    run: async (session, { target, context }) => findPlan(await viewPlans(session, context), target),
  }),
  change({
    operationId: 'createPlan',
    http: 'PUT /plans/:name',
    summary: 'Make a plan',
    input: z.strictObject(limits),
    example: { minute: 600, day: 20_000 },
    responds: 'The plan was made',
    result: changedPlanSchema,
    status: 201,
    async doubts(session, { target, input }) {
      newName.parse(target);
      return doubtsOf(await previewPlan(session, target, input, true));
    },
    run: async (session, { target, input }) =>
      viewChange(
        await setPlan(session, target, input, true, ({ before }) => {
          if (Object.keys(knownIn(before)).length > 0)
            throw new OvertakenChange(
              `the plan ${target} exists already: ${describeLimits(before, 'invalid')}. Nothing was changed.`,
            );
        }),
      ),
  }),
  change({
    operationId: 'setPlanLimits',
    http: 'PATCH /plans/:name',
    summary: 'Change the limits of a plan; in force on all gateways within a second',
    input: z.strictObject(nullable),
    seen,
    example: { minute: 600, day: 20_000, expected: { minute: 300, day: 10_000 } },
    responds: 'The plan was changed',
    result: changedPlanSchema,
    async doubts(session, { target, input }) {
      await assertEditable(session, target);
      return doubtsOf(await previewPlan(session, target, input, false));
    },
    run: async (session, { target, input, seen }) =>
      viewChange(
        await setPlan(session, target, input, false, ({ before }) =>
          expectUnchanged(
            planFields.every(
              (field) =>
                // Windows that the person has not seen, since they had no limit then, count as unchanged.
                seen?.expected[field] === undefined || seen.expected[field] === (before[field] ?? null),
            ),
            describeLimits(before, 'invalid'),
          ),
        ),
      ),
  }),
  // Of the command, which makes or changes one: the API has a route for each.
  change({
    operationId: 'setPlan',
    command: {
      usage: 'plans set <name>',
      says: 'change limits of a plan; with --create, make a new one',
      examples: ['plans set pro --minute 600', 'plans set gold --create --minute 500 --day 20000'],
      options: {
        ...limitOptions,
        create: {
          flags: '--create',
          says: 'make the plan if it does not exist; needs at least one limit',
        },
      },
      prints: changedFields,
    },
    summary: 'Make or change a plan',
    input: z.strictObject({ ...nullable, create: z.boolean().default(false) }),
    responds: 'The plan',
    result: z.custom<ChangeOfCommand>(),
    doubts: async (session, { target, input: { create, ...limits } }) =>
      doubtsOf(await previewPlan(session, target, limits, create)),
    async preview(session, { target, input: { create, ...limits }, context }) {
      const change = await previewPlan(session, target, limits, create);
      const { name, ...after } = change.after;
      const customers = (await context.planCustomers(session)).get(name) ?? 0;
      return {
        ...commandView(change),
        customers,
        above: await findBusiestAbove(session, name, knownIn(after)),
      };
    },
    run: async (session, { target, input: { create, ...limits } }) =>
      commandView(await setPlan(session, target, limits, create)),
  }),
  change({
    operationId: 'removePlan',
    http: 'DELETE /plans/:name',
    command: {
      usage: 'plans remove <name>',
      examples: ['plans remove gold'],
      asks: (_session, name) => `Remove the plan ${name}?`,
      prints: ({ name }) => `plans.${name}  removed`,
    },
    summary: 'Remove a plan that no customer is on',
    responds: 'The plan was removed',
    result: z.object({
      name: z.string(),
      before: z.record(z.string(), z.unknown()).nullable(),
      after: z.null(),
    }),
    async run(session, { target: name }) {
      const { before } = await removePlan(session, name);
      return { name, before, after: null };
    },
  }),
  read({
    operationId: 'previewPlanLimits',
    http: 'POST /plans/:name/preview',
    access: 'viewer',
    summary: 'Which of the busiest customers are above other limits; changes nothing',
    input: z.strictObject(limits),
    example: { minute: 200, day: 10_000 },
    responds: 'The customers',
    result: planPreviewSchema,
    async run(session, { target, input }) {
      await assertEditable(session, target);
      return { above: await findBusiestAbove(session, target, input) };
    },
  }),
];

function headingOf(field: string): string {
  return field.replace(/(?=[A-Z])/, ' ').toUpperCase();
}

function enforcedInWords({ enforced }: ListedPlan): string {
  return enforced.map(({ gateways, ...limits }) => `${describeLimits(limits)} (${gateways})`).join('; ');
}
