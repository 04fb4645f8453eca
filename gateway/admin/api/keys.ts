import { Router } from 'express';
import { z } from 'zod';
import { knownIn } from '../../limits/limits.ts';
import { createApiKeyStore } from '../../operations/api-key-store.ts';
import { findKeyId } from '../../operations/find-key-id.ts';
import { keyStates } from '../../operations/key-filter.ts';
import { keyIdPattern, newKeyInput, timeInput } from '../../operations/key-input.ts';
import { readKeyPage } from '../../operations/key-page.ts';
import { limitsView } from '../../operations/key-view.ts';
import { readPlanOverviews, type PlanOverview } from '../../operations/plan-overview.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';
import { issuedKey } from './issued-key.ts';
import { keyActionsApi } from './key-actions.ts';
import { keyBansApi } from './key-bans.ts';
import { keyTrialsApi } from './key-trials.ts';
import { keyApi } from './key.ts';
import { translateKeyErrors } from './translate-key-errors.ts';

const [defaultPageSize, maxPageSize] = [50, 100];
/** A page takes half a second at most, whatever the filter: the console goes on with `next`. */
const maxRead = 20_000;

const flag = z.enum(['true', 'false'], 'has to be true or false').transform((text) => text === 'true');

const listQuery = z.strictObject({
  search: z.string().max(200, 'is longer than 200 characters').optional(),
  plan: z.string().optional(),
  state: z.enum(keyStates, `has to be one of ${keyStates.join(', ')}`).optional(),
  ownLimits: flag.optional(),
  banned: flag.optional(),
  expiresBefore: timeInput.optional(),
  after: z.string().optional(),
  limit: z
    .string()
    .regex(/^[1-9]\d{0,2}$/, `has to be a whole number from 1 to ${maxPageSize}`)
    .transform(Number)
    .refine((size) => size <= maxPageSize, `has to be a whole number from 1 to ${maxPageSize}`)
    .default(defaultPageSize),
});

const maxPastedLength = 10_000;
const findInput = z.strictObject({
  text: z.string('has to be a text').max(maxPastedLength, `is longer than ${maxPastedLength} characters`),
});

/** API keys of customers. */
export function keysApi(dependencies: ApiDependencies): Router {
  const { read, search, change } = dependencies;
  const router = Router();

  router.get('/keys', async (req, res) => {
    const {
      search: text,
      banned,
      after,
      limit,
      plan,
      state,
      ownLimits,
      expiresBefore,
    } = listQuery.parse(req.query);
    const withOwnLimits = ownLimits === true ? true : undefined;
    const filter = { plan, state, withOwnLimits, expiresBefore };
    const options = { filter, search: text, banned, after, size: limit, maxRead };
    const { keys, ...page } = await search(req, (session) => readKeyPage(session, options));
    res.json({ items: keys, ...page });
  });

  router.post('/keys', async (req, res) => {
    const { expiresAt, name, plan, ...limits } = newKeyInput.parse(req.body);
    const wanted = { name, plan, expiresAt: expiresAt ?? undefined, ...knownIn(limits) };
    const issued = await issuedKey(change, req, (session) => createApiKeyStore(session).issue(wanted));
    res.status(201).json(issued);
  });

  router.post('/keys/find', async (req, res) => {
    const { text } = findInput.parse(req.body);
    res.json({ id: await read((session) => findKeyId(text, session)) });
  });

  // For forms, which must not begin a count of all keys, as GET /api/plans does.
  router.get('/key-plans', async (_req, res) => {
    const { plans } = await read(readPlanOverviews);
    res.json({ items: plans.filter(({ kind }) => kind !== 'address').map(viewKeyPlan), next: null });
  });

  router.use('/keys/:id', (req, _res, next) => {
    if (!keyIdPattern.test(req.params.id))
      throw new ApiError('not_found', { message: 'No key has such an id.' });
    next();
  });
  router.use(keyApi(dependencies));
  router.use(keyActionsApi(dependencies));
  router.use(keyBansApi(dependencies));
  router.use(keyTrialsApi(dependencies));
  router.use(translateKeyErrors());
  return router;
}

export function viewKeyPlan({ name, kind, ...plan }: PlanOverview) {
  return { name, ...limitsView(knownIn(plan)), needsOwnLimits: kind === 'own_limits' };
}
