import { z } from 'zod';
import { describeLimits, doubtInWords, knownIn } from '../../limits/limits.ts';
import { forPlanFields, planFields } from '../../limits/shadow-limits.ts';
import { customerAboveSchema, findBusiestAbove } from '../../operations/plan-customers.ts';
import { setPlan, storedLimitsSchema, type PlanChange, type PlanRow } from '../../operations/plans.ts';
import { PlanInUse, removePlan } from '../../operations/remove-plan.ts';
import { planNamePattern, planValues } from '../../plans/plan-settings.ts';
import { ApiError } from './api-error.ts';
import { findEditablePlan, planDetailSchema, plansSchema, viewPlanDetail, viewPlans } from './plan-view.ts';
import { changed, expectUnchanged } from './results.ts';
import { route } from './route.ts';

const limits = planValues.shape;
const confirmed = z
  .boolean()
  .default(false)
  .describe('Needed if the limit of a window is below that of a shorter one');
/** Null removes a limit. */
const nullable = forPlanFields((field) => limits[field].nullable());
const expectedLimits = z
  .strictObject(nullable)
  .describe(
    'The limits as they were read, null for an invalid one or none; with other ones stored, the answer is 409',
  );

const changedPlanSchema = changed(
  z
    .object({ name: z.string(), ...storedLimitsSchema.shape, before: storedLimitsSchema })
    .meta({ id: 'ChangedPlan' }),
);

export const planPreviewSchema = z.object({
  above: z
    .array(customerAboveSchema)
    .describe(
      'Which of the ten busiest customers of the plan in the last minute have used up such limits now',
    ),
});

/** Limits of the plans. */
export const plansRoutes = [
  route.get('/plans', {
    operationId: 'listPlans',
    summary: 'All plans',
    responds: 'Plans',
    result: plansSchema,
    handle: (_call, api) => viewPlans(api),
  }),
  route.get('/plans/:name', {
    operationId: 'getPlan',
    summary: 'One plan',
    responds: 'The plan',
    result: planDetailSchema,
    handle: ({ target }, api) => viewPlanDetail(api, target),
  }),
  route.put('/plans/:name', {
    operationId: 'createPlan',
    summary: 'Make a plan',
    input: z.strictObject({ ...limits, confirmed }),
    example: { minute: 600, day: 20_000 },
    responds: 'The plan was made',
    result: changedPlanSchema,
    status: 201,
    handle: async ({ req, target, input: { confirmed, ...wanted } }, { change }) => {
      // Before it gets into a message or a Redis command: it may be a pasted API key.
      if (!planNamePattern.test(target)) {
        throw new ApiError('bad_request', {
          message:
            'A plan name has up to 32 lower-case letters, digits and dashes, and begins with a letter.',
        });
      }
      const { result, warnings } = await change(req, (session) =>
        setPlan(session, target, wanted, true, async ({ before, after }) => {
          if (Object.keys(knownIn(before)).length > 0) {
            throw new ApiError('conflict', {
              message: `The plan ${before.name} exists already: ${describeLimits(before, 'invalid')}. Nothing was changed.`,
            });
          }
          questionLimits(after, confirmed);
        }),
      );
      return view(result, warnings);
    },
  }),
  route.patch('/plans/:name', {
    operationId: 'setPlanLimits',
    summary: 'Change the limits of a plan; in force on all gateways within a second',
    input: z.strictObject({ ...nullable, confirmed, expected: expectedLimits }),
    example: { minute: 600, day: 20_000, expected: { minute: 300, day: 10_000 } },
    responds: 'The plan was changed',
    result: changedPlanSchema,
    handle: async ({ req, target, input: { confirmed, expected, ...wanted } }, { change }) => {
      const { result, warnings } = await change(req, async (session) => {
        await findEditablePlan(session, target);
        return setPlan(session, target, wanted, false, async ({ before, after }) => {
          expectUnchanged(isAsSeen(before, expected), describeLimits(before, 'invalid'));
          questionLimits(after, confirmed);
        });
      });
      return view(result, warnings);
    },
  }),
  route.delete('/plans/:name', {
    operationId: 'removePlan',
    summary: 'Remove a plan that no customer is on',
    responds: 'The plan was removed',
    result: changed(
      z.object({ name: z.string(), before: z.record(z.string(), z.unknown()).nullable(), after: z.null() }),
    ),
    handle: async ({ req, target }, { change }) => {
      const { result, warnings } = await change(req, async (session) => {
        await findEditablePlan(session, target);
        return removePlan(session, target).catch(explainUse);
      });
      return { name: target, before: result.before, after: null, warnings };
    },
  }),
  route.post('/plans/:name/preview', {
    operationId: 'previewPlanLimits',
    access: 'viewer',
    summary: 'Which of the busiest customers are above other limits; changes nothing',
    input: z.strictObject(limits),
    example: { minute: 200, day: 10_000 },
    responds: 'The customers',
    result: planPreviewSchema,
    handle: ({ target, input }, { read }) =>
      read(async (session) => {
        const { name } = await findEditablePlan(session, target);
        return { above: await findBusiestAbove(session, name, input) };
      }),
  }),
];

/** Windows that the person has not seen, since they had no limit then, count as unchanged. */
function isAsSeen(stored: PlanRow, seen: z.infer<typeof expectedLimits>): boolean {
  return planFields.every((field) => seen[field] === undefined || seen[field] === (stored[field] ?? null));
}

/** @throws ApiError invalid_operation for limits that are usually a mistake, unless they are confirmed */
function questionLimits({ name, ...limits }: PlanRow, confirmed: boolean): void {
  const question = doubtInWords(name, knownIn(limits));
  if (question === undefined || confirmed) return;
  throw new ApiError('invalid_operation', {
    message: `${question.charAt(0).toUpperCase()}${question.slice(1)}, so a limit is never reached. Nothing was changed: confirm it (confirmed: true) if it is meant.`,
  });
}

/** The message for the command names commands. */
function explainUse(error: unknown): never {
  if (!(error instanceof PlanInUse)) throw error;
  throw new ApiError('invalid_operation', {
    message: `${error.counts}: move them to another plan first. The plan was not removed.`,
  });
}

function view({ before, after }: PlanChange, warnings: string[]) {
  const { name: _same, ...limits } = before;
  return { ...after, before: limits, warnings };
}
