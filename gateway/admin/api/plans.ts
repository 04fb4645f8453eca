import { Router } from 'express';
import { z } from 'zod';
import { describeLimits, doubtInWords, knownIn, withLimits } from '../../limits/limits.ts';
import { byOptionalWindow, byRequiredWindow, windowNames } from '../../limits/windows.ts';
import { planNamePattern } from '../../operations/plan-name.ts';
import { createPlanStore, type PlanChange, type PlanRow } from '../../operations/plan-store.ts';
import { findLastPlanChange, undoPlanChange } from '../../operations/plan-undo.ts';
import { planFileSchema } from '../../operations/plans-file-schema.ts';
import { PlanInUse, removePlan } from '../../operations/remove-plan.ts';
import type { Session } from '../../operations/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';
import { expectUnchanged } from './expect-unchanged.ts';
import { createPlanCounts, type PlanCounts } from './plan-counts.ts';
import { planEffect } from './plan-effect.ts';
import { planTrialsApi } from './plan-trials.ts';
import { findEditablePlan, viewPlans } from './plan-view.ts';

const limits = planFileSchema.shape;
const confirmed = z.boolean().default(false);
const creation = z.strictObject({ ...limits, confirmed });
/** Null is an invalid limit, or none. */
const required = byRequiredWindow((name) => limits[name].nullable());
/** Null removes the limit of a window that a plan need not have. */
const optional = byOptionalWindow((name) => limits[name].nullable());
const expectedLimits = z.strictObject({ ...required, ...optional });
const change = z.strictObject({ ...limits, ...optional, confirmed, expected: expectedLimits });
const effect = z.strictObject(limits);
const undo = z.strictObject({ entry: z.string().max(40) });

/** Limits of the plans. */
export function plansApi({ read, change: makeChange }: ApiDependencies): Router {
  const router = Router();
  const counts = createPlanCounts({ read });

  router.get('/plans', async (_req, res) => {
    res.json(await read((session) => viewPlans(session, counts)));
  });

  router.get('/plans/:name', async (req, res) => {
    res.json(await read((session) => viewPlanDetail(session, req.params.name, counts)));
  });

  router.put('/plans/:name', async (req, res) => {
    const { confirmed, ...wanted } = creation.parse(req.body);
    // Before it gets into a message or a Redis command: it may be a pasted API key.
    if (!planNamePattern.test(req.params.name)) {
      throw new ApiError('bad_request', {
        message: 'A plan name has up to 32 lower-case letters, digits and dashes, and begins with a letter.',
      });
    }
    const { result, warnings } = await makeChange(req, (session) =>
      createPlanStore(session).set(req.params.name, wanted, true, async ({ before, after }) => {
        if (Object.keys(knownIn(before)).length > 0) {
          throw new ApiError('conflict', {
            message: `The plan ${before.name} exists already: ${describeLimits(before, 'invalid')}. Nothing was changed.`,
          });
        }
        questionLimits(after, confirmed);
      }),
    );
    res.status(201).json(view(result, warnings));
  });

  router.patch('/plans/:name', async (req, res) => {
    const { confirmed, expected, ...wanted } = change.parse(req.body);
    const { name } = req.params;
    const { result, warnings } = await makeChange(req, async (session) => {
      await findEditablePlan(session, name);
      return createPlanStore(session).set(name, wanted, false, async ({ before, after }) => {
        expectUnchanged(isAsSeen(before, expected), describeLimits(before, 'invalid'));
        questionLimits(after, confirmed);
      });
    });
    res.json(view(result, warnings));
  });

  router.delete('/plans/:name', async (req, res) => {
    const { result, warnings } = await makeChange(req, async (session) => {
      await findEditablePlan(session, req.params.name);
      return removePlan(session, req.params.name, () => Promise.resolve()).catch(explainUse);
    });
    res.json({ name: req.params.name, before: result.before, after: null, warnings });
  });

  router.post('/plans/:name/effect', async (req, res) => {
    const wanted = effect.parse(req.body);
    res.json(
      await read(async (session) =>
        planEffect(await findEditablePlan(session, req.params.name), withLimits(wanted), counts),
      ),
    );
  });

  router.post('/plans/:name/undo', async (req, res) => {
    const { entry } = undo.parse(req.body);
    const { result, warnings } = await makeChange(req, async (session) => {
      const { name } = await findEditablePlan(session, req.params.name);
      return undoPlanChange(session, name, ({ id, who, after }) =>
        expectUnchanged(id === entry, `${describeLimits(after, 'invalid')}, set by ${who}`),
      );
    });
    res.json(view(result, warnings));
  });

  router.use(planTrialsApi({ read, change: makeChange }, counts));
  return router;
}

/** Windows that the person has not seen, since they had no limit then, count as unchanged. */
function isAsSeen(stored: PlanRow, seen: z.infer<typeof expectedLimits>): boolean {
  return windowNames.every((name) => seen[name] === undefined || seen[name] === (stored[name] ?? null));
}

/** @throws ApiError not_found */
export async function viewPlanDetail(session: Session, name: string, counts: PlanCounts) {
  const [{ items, ...rest }, last] = await Promise.all([
    viewPlans(session, counts),
    planNamePattern.test(name) ? findLastPlanChange(session, name) : undefined,
  ]);
  const plan = items.find((item) => item.name === name);
  if (plan === undefined) throw new ApiError('not_found', { message: 'There is no plan of this name.' });
  const lastChange = last === undefined ? null : { ...last, obstacle: last.obstacle ?? null };
  const { gateways: running, keysAsOf, counting } = rest;
  return { ...plan, running, keysAsOf, counting, lastChange };
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
