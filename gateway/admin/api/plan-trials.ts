import { z } from 'zod';
import { completeLimits, describeLimits, knownIn } from '../../limits/limits.ts';
import { windowFields } from '../../limits/window-fields.ts';
import { windowNames } from '../../limits/windows.ts';
import {
  applyPlanTrial,
  startPlanTrial,
  stopPlanTrial,
  type PlanOnTrial,
  type PlanTrialChange,
} from '../../operations/plan-trial.ts';
import type { Session } from '../../operations/session.ts';
import { planTrialReportSchema, withRefused, type PlanTrialReport } from '../../operations/trial-report.ts';
import { planValues } from '../../plans/plan-settings.ts';
import type { Counted } from './plan-counts.ts';
import { countingSchema, findEditablePlan, trialSchema, viewTrial } from './plan-view.ts';
import { changed, expectUnchanged } from './results.ts';
import { route, type Api, type Call } from './route.ts';

export const reportedTrialSchema = trialSchema
  .extend({
    report: planTrialReportSchema
      .extend({ refused: z.int(), refusedShare: z.number() })
      .nullable()
      .describe('Null until the keys are counted'),
    asOf: z.iso.datetime().nullable(),
    counting: countingSchema,
  })
  .meta({ id: 'ReportedTrial' });

const expected = z
  .strictObject({ since: z.iso.datetime().nullable() })
  .meta({ id: 'ExpectedTrial', description: 'Start of the trial as it was read; null without one' });
const start = z
  .strictObject({ ...planValues.partial().shape, expected })
  .refine((limits) => windowNames.some((name) => limits[name] !== undefined), {
    error: 'a trial needs a minute limit, a day limit or both',
  });
const end = z.strictObject({ expected });

const changedTrial = {
  responds: 'The plan and its trial as they are now',
  result: changed(
    z
      .object({ name: z.string(), ...windowFields(() => z.int()), trial: trialSchema.nullable() })
      .meta({ id: 'PlanOnTrial' }),
  ),
};

/** Trials of limits: what they would refuse is counted, and nothing is refused. */
export const planTrialRoutes = [
  route.get('/plans/:name/trial', {
    operationId: 'getPlanTrial',
    summary: 'The trial that runs, and what it would have refused',
    responds: 'The trial',
    result: z.object({
      name: z.string(),
      trial: reportedTrialSchema.nullable(),
      issues: z.array(z.string()),
    }),
    handle: ({ target }, { read, counts }) =>
      read(async (session) => {
        const { name, trial, issues, ...plan } = await findEditablePlan(session, target);
        const limits = completeLimits(knownIn(plan));
        if (trial === undefined || limits === undefined) return { name, trial: null, issues };
        const report = await counts.trialReport({ name, limits, trial, issues });
        return { name, trial: viewTrialReport(trial, report), issues };
      }),
  }),
  route.put('/plans/:name/trial', {
    operationId: 'startPlanTrial',
    summary: 'Begin a trial, or replace the one that runs; a window without a limit stays as enforced',
    input: start,
    example: { minute: 200, expected: { since: null } },
    ...changedTrial,
    handle: (call, api) => {
      const { expected, ...limits } = call.input;
      return changeTrial(call, api, (session, name) =>
        startPlanTrial(session, name, limits, expectTrial(expected)),
      );
    },
  }),
  route.delete('/plans/:name/trial', {
    operationId: 'stopPlanTrial',
    summary: 'End the trial',
    input: end,
    ...changedTrial,
    handle: (call, api) =>
      changeTrial(call, api, (session, name) =>
        stopPlanTrial(session, name, expectTrial(call.input.expected)),
      ),
  }),
  route.post('/plans/:name/trial/apply', {
    operationId: 'applyPlanTrial',
    summary: 'Make the limits on trial the limits of the plan, and end the trial',
    input: end,
    ...changedTrial,
    handle: (call, api) =>
      changeTrial(call, api, (session, name) =>
        applyPlanTrial(session, name, expectTrial(call.input.expected)),
      ),
  }),
];

async function changeTrial(
  { req, target }: Call<unknown>,
  { change }: Api,
  operate: (session: Session, name: string) => Promise<PlanTrialChange>,
) {
  const { result, warnings } = await change(req, async (session) => {
    const { name } = await findEditablePlan(session, target);
    return operate(session, name);
  });
  const { name, limits, trial } = result.after;
  return { name, ...limits, trial: trial === undefined ? null : viewTrial(trial), warnings };
}

/** An invalid trial has no start: it can be stopped and replaced by who has seen that. */
function expectTrial({ since }: z.infer<typeof expected>): (change: PlanTrialChange) => void {
  return ({ before: { trial } }) => {
    const stored = trial === undefined ? null : viewTrial(trial).since;
    const seen = since === null ? null : new Date(since).toISOString();
    expectUnchanged(
      stored === seen,
      trial === undefined ? 'no trial' : `a trial of ${describeLimits(trial, 'invalid')}`,
    );
  };
}

type Trial = NonNullable<PlanOnTrial['trial']>;

/** A trial with what it would have refused so far; null until that is counted. */
export function viewTrialReport(trial: Trial, { value, asOf, counting }: Counted<PlanTrialReport>) {
  return { ...viewTrial(trial), report: value === undefined ? null : withRefused(value), asOf, counting };
}
