import { z } from 'zod';
import { byWindow } from '../../limits/windows.ts';
import { findKeyId } from '../../operations/find-key.ts';
import { newKeyInput, timeInput, withoutNulls } from '../../operations/key-input.ts';
import { keyPageSchema, readKeyPage } from '../../operations/key-list.ts';
import { keyStates } from '../../operations/key-view.ts';
import { issueKey } from '../../operations/keys.ts';
import { readPlanOverviews, type PlanOverview } from '../../operations/plan-overview.ts';
import { storedLimitsSchema } from '../../operations/plans.ts';
import { issued, respondIssued } from './key.ts';
import { countInput, flagInput, nextInput } from './query-input.ts';
import { listOf } from './results.ts';
import { route } from './route.ts';

/** A page takes half a second at most, whatever the filter: the console goes on with `next`. */
const maxRead = 20_000;
const maxPastedLength = 10_000;

export const keyPlanSchema = z.object({
  name: z.string(),
  ...storedLimitsSchema.shape,
  needsOwnLimits: z.boolean().describe('Keys on it need a limit of their own'),
});

/** API keys of customers. */
export const keysRoutes = [
  route.get('/keys', {
    operationId: 'listKeys',
    summary: 'API keys, newest first; with several conditions, those that meet all of them',
    description:
      `Reads some ${maxRead.toLocaleString('en')} keys at most. A page may therefore have fewer items than its limit, or ` +
      'none, although there are more: go on with `next` until it is null.',
    input: z.strictObject({
      search: z
        .string()
        .max(200, 'is longer than 200 characters')
        .optional()
        .describe(
          'An id, a SHA-256, a hint such as api_ab12, or part of a name or of an id. An API key is refused.',
        ),
      plan: z.string().optional(),
      state: z.enum(keyStates, `has to be one of ${keyStates.join(', ')}`).optional(),
      banned: flagInput
        .optional()
        .describe('Banned keys only, soonest to be free first. Without bans that were made with redis-cli.'),
      ownLimits: flagInput.optional().describe('Keys with limits of their own only'),
      expiresBefore: timeInput
        .optional()
        .describe('Keys that expire, or have expired, before this time only'),
      after: nextInput.optional(),
      limit: countInput(100, 50),
    }),
    responds: 'A page of keys',
    result: keyPageSchema,
    handle: ({ req, input: { limit, ...conditions } }, { search }) =>
      search(req, (session) => readKeyPage(session, { ...conditions, size: limit, maxRead })),
  }),
  route.post('/keys', {
    operationId: 'issueKey',
    summary: 'Issue a key',
    input: newKeyInput,
    ...issued,
    handle: ({ req, input }, api) =>
      respondIssued({ req }, api, (session) => issueKey(session, withoutNulls(input))),
  }),
  route.post('/keys/find', {
    operationId: 'findKey',
    access: 'viewer',
    summary: 'Find a key by the key itself',
    description: 'A viewer may do this. The key is neither stored nor logged.',
    input: z.strictObject({
      text: z
        .string('has to be a text')
        .max(maxPastedLength, `is longer than ${maxPastedLength} characters`)
        .describe('An API key or the SHA-256 of one, also in the middle of a text'),
    }),
    responds: 'The id of the key',
    result: z.object({ id: z.string() }),
    handle: async ({ input: { text } }, { read }) => ({
      id: await read((session) => findKeyId(text, session)),
    }),
  }),
  // For forms, which must not begin a count of all keys, as GET /api/plans does.
  route.get('/key-plans', {
    operationId: 'listKeyPlans',
    noun: 'plans',
    summary: 'Plans that a key can be on, with their limits in Redis',
    responds: 'All of them',
    result: listOf(keyPlanSchema),
    handle: async (_call, { read }) => {
      const { plans } = await read(readPlanOverviews);
      const items = plans.filter(({ kind }) => kind !== 'address').map(viewKeyPlan);
      return { items, next: null };
    },
  }),
];

function viewKeyPlan({ name, kind, ...plan }: PlanOverview): z.infer<typeof keyPlanSchema> {
  return { name, ...byWindow((window) => plan[window]), needsOwnLimits: kind === 'own_limits' };
}
