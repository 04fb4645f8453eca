import { z } from 'zod';
import { readBanPage } from '../../operations/bans.ts';
import { scorePattern } from '../../operations/scored-pages.ts';
import { countInput, nextInput } from './query-input.ts';
import { pageOf } from './results.ts';
import { route } from './route.ts';

export const banSchema = z
  .object({
    id: z.string().describe('Of the API key'),
    name: z.string(),
    plan: z.string(),
    reason: z.string(),
    endsAt: z.iso.datetime().nullable().describe('Null for a ban without an end that was made by hand'),
  })
  .meta({ id: 'Ban' });

const afterPattern = new RegExp(String.raw`^${scorePattern}:[\w-]{1,100}$`);

/** Active bans. Those of one key are changed at /api/keys/{id}/ban. */
export const bansRoutes = [
  route.get('/bans', {
    operationId: 'listBans',
    summary: 'Active bans that gateways have observed or operators have made, soonest to expire first',
    input: z.strictObject({
      after: nextInput.regex(afterPattern, { error: 'is not the next of a page' }).optional(),
      limit: countInput(500, 100),
    }),
    responds: 'A page',
    result: pageOf(banSchema),
    handle: ({ req, input: { after, limit } }, { search }) =>
      search(req, (session) => readBanPage(session, after, limit)),
  }),
];
