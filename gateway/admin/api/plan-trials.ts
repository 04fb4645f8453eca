import { Router } from 'express';
import { z } from 'zod';
import { completeLimits, describeLimits, knownIn } from '../../limits/limits.ts';
import { windowNames } from '../../limits/windows.ts';
import { createPlanTrials, type PlanOnTrial, type PlanTrialChange } from '../../operations/plan-trial.ts';
import { planFileSchema } from '../../operations/plans-file-schema.ts';
import { refusedByTrial, type PlanTrialReport } from '../../operations/trial-report.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { expectUnchanged } from './expect-unchanged.ts';
import type { Counted, PlanCounts } from './plan-counts.ts';
import { findEditablePlan, viewTrial } from './plan-view.ts';

/** Start of the trial that the person has seen; null for none. */
const expected = z.strictObject({ since: z.iso.datetime().nullable() });
const start = z
  .strictObject({ ...planFileSchema.partial().shape, expected })
  .refine((limits) => windowNames.some((name) => limits[name] !== undefined), {
    error: 'a trial needs a minute limit, a day limit or both',
  });
const end = z.strictObject({ expected });

/** Trials of limits: what they would refuse is counted, and nothing is refused. */
export function planTrialsApi({ read, change }: Omit<ApiDependencies, 'search'>, counts: PlanCounts): Router {
  const router = Router();

  router.get('/plans/:name/trial', async (req, res) => {
    const view = await read(async (session) => {
      const { name, trial, issues, ...plan } = await findEditablePlan(session, req.params.name);
      const limits = completeLimits(knownIn(plan));
      if (trial === undefined || limits === undefined) return { name, trial: null, issues };
      const report = await counts.trialReport({ name, limits, trial, issues });
      return { name, trial: viewTrialReport(trial, report), issues };
    });
    res.json(view);
  });

  router.put('/plans/:name/trial', async (req, res) => {
    const { expected, ...limits } = start.parse(req.body);
    const { result, warnings } = await change(req, async (session) => {
      const { name } = await findEditablePlan(session, req.params.name);
      return createPlanTrials(session).start(name, limits, expectTrial(expected));
    });
    res.json({ ...viewChange(result), warnings });
  });

  router.delete('/plans/:name/trial', async (req, res) => {
    const { expected } = end.parse(req.body);
    const { result, warnings } = await change(req, async (session) => {
      const { name } = await findEditablePlan(session, req.params.name);
      return createPlanTrials(session).stop(name, expectTrial(expected));
    });
    res.json({ ...viewChange(result), warnings });
  });

  router.post('/plans/:name/trial/apply', async (req, res) => {
    const { expected } = end.parse(req.body);
    const { result, warnings } = await change(req, async (session) => {
      const { name } = await findEditablePlan(session, req.params.name);
      return createPlanTrials(session).apply(name, expectTrial(expected));
    });
    res.json({ ...viewChange(result), warnings });
  });

  return router;
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

function viewChange({ after: { name, limits, trial } }: PlanTrialChange) {
  return { name, ...limits, trial: trial === undefined ? null : viewTrial(trial) };
}

type Trial = NonNullable<PlanOnTrial['trial']>;

/** A trial with what it would have refused so far; null until that is counted. */
export function viewTrialReport(trial: Trial, { value, asOf, counting }: Counted<PlanTrialReport>) {
  return { ...viewTrial(trial), report: value === undefined ? null : viewReport(value), asOf, counting };
}

function viewReport(report: PlanTrialReport) {
  const { requests } = report;
  const refused = refusedByTrial(report);
  return { ...report, refused, refusedShare: requests === 0 ? 0 : refused / requests };
}
