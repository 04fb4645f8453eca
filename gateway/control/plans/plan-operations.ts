import { z } from 'zod';
import { byShadowField, describeLimits, forPlanFields, limitsIn, planFields } from '../../limits/limits.ts';
import { byWindow, eachExactly } from '../../limits/windows.ts';
import { planValues } from '../../quota/plan-settings.ts';
import { unchangedFields, type ChangedField } from '../audit/audit-log.ts';
import { UnknownId } from '../invalid-operation.ts';
import { listOf } from '../list-schemas.ts';
import { change, list, read, type OperationContext, type OptionForm } from '../operation.ts';
import type { Session } from '../session.ts';
import { aboveInWords, customerAboveSchema, findBusiestAbove, type CustomerAbove } from './plan-customers.ts';
import {
  assertPlan,
  changedPlanSchema,
  lackingLimit,
  planSchema,
  previewPlan,
  readPlans,
  removePlan,
  setPlan,
  type ChangedPlan,
  type Plan,
} from './plans.ts';

const limits = planValues.shape;
/** Null removes a limit. */
const nullable = forPlanFields((field) => limits[field].nullable());

const aboveSchema = z
  .array(customerAboveSchema)
  .describe('Which of the ten busiest customers of the plan in the last minute have used up such limits now');
export const planPreviewSchema = z.object({ above: aboveSchema });

/** All plans with the numbers of their customers. */
const viewPlans = async (session: Session, { planCustomers }: OperationContext) =>
  readPlans(session, await planCustomers(session));

/** Of a dry run also how many customers are on the plan, and who of them is above the new limits. */
type ShownChange = ChangedPlan & { customers?: number; above?: CustomerAbove[] };

function changedFields({ name, before, customers, above = [], ...after }: ShownChange): ChangedField[] {
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
      columns: {
        PLAN: 'name',
        ...Object.fromEntries(planFields.map((field) => [headingOf(field), field])),
        CUSTOMERS: 'customers',
        // Gateways load a plan of an operator's own when a key on it is used.
        GATEWAYS: ({ gateways, running, enforced }) =>
          running > 0 && gateways === 0 && enforced.length === 0 ? 'once used' : `${gateways} of ${running}`,
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
            'are none, a gateway that starts uses the defaults of a built-in plan, and sends 503 to customers on ' +
            'another one; see: ops plans set --help',
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
    async run(session, { target, context }) {
      const plan = (await viewPlans(session, context)).find(({ name }) => name === target);
      if (plan === undefined) throw new UnknownId('there is no plan of this name');
      return plan;
    },
  }),
  change({
    operationId: 'setPlan',
    http: 'PATCH /plans/:name',
    audits: 'changed the plan',
    command: {
      usage: 'plans set <name>',
      says: 'change limits of a plan; with --create, make a new one',
      examples: ['plans set pro --minute 600', 'plans set gold --create --minute 500 --day 20000'],
      options: { ...limitOptions, create: { flags: '--create' } },
      prints: changedFields,
    },
    summary: 'Change the limits of a plan, or make one; in force on all gateways within a second',
    input: z.strictObject({
      ...nullable,
      create: z
        .boolean()
        .default(false)
        .describe('make the plan if it does not exist; needs at least one limit'),
    }),
    seen: z.object({
      expected: z
        .strictObject(nullable)
        .describe(
          'The limits as they were read, null for an invalid one or none; with other ones stored, the answer is 409',
        ),
    }),
    example: { minute: 600, day: 20_000, expected: { minute: 300, day: 10_000 } },
    responds: 'The plan',
    result: changedPlanSchema,
    async preview(session, { target, input: { create, ...limits }, context }): Promise<ShownChange> {
      const changed = await previewPlan(session, target, limits, create);
      const customers = (await context.planCustomers(session)).get(target) ?? 0;
      return { ...changed, customers, above: await findBusiestAbove(session, target, limitsIn(changed)) };
    },
    run: (session, { target, input: { create, ...limits }, seen }) =>
      setPlan(session, target, limits, create, seen?.expected),
  }),
  change({
    operationId: 'removePlan',
    http: 'DELETE /plans/:name',
    audits: 'removed the plan',
    asks: {
      offer: 'Remove…',
      tone: 'danger',
      heading: 'Remove the plan {name}?',
      text: 'No customer can be put on it any more. This is refused if one is on it.',
      done: 'The plan {name} was removed.',
    },
    command: {
      usage: 'plans remove <name>',
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
      await assertPlan(session, target);
      return { above: await findBusiestAbove(session, target, input) };
    },
  }),
];

function headingOf(field: string): string {
  return field.replace(/(?=[A-Z])/, ' ').toUpperCase();
}

function enforcedInWords({ enforced }: Plan): string {
  return enforced.map(({ gateways, ...limits }) => `${describeLimits(limits)} (${gateways})`).join('; ');
}
