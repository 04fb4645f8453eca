import { z } from 'zod';
import { readBanPage, scanBans, type ActiveBan } from '../../operations/bans.ts';
import { isScanCursor } from '../../operations/scan-redis-keys.ts';
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
    handle: async ({ req, input: { after, limit } }, { search }) => {
      const { bans, next } = await search(req, (session) => readBanPage(session, after, limit));
      return { items: bans.map(viewBan), next: next ?? null };
    },
  }),
  // The client asks for part after part, and can stop.
  route.get('/bans/scan', {
    operationId: 'scanBans',
    summary: 'Bans that were made with redis-cli, in one part of the Redis keys',
    input: z.strictObject({
      after: z
        .string()
        .refine(isScanCursor, { error: 'is not the next of a part' })
        .optional()
        .describe('`next` of the part before'),
    }),
    responds: 'Bans of this part that are not in the list; a ban may come twice',
    result: pageOf(banSchema).extend({
      scanned: z.int().describe('Redis keys looked at in this part, about'),
      total: z.int().describe('Redis keys there are'),
    }),
    handle: async ({ req, input: { after } }, { search }) => {
      const { bans, next, ...counts } = await search(req, (session) => scanBans(session, after));
      return { items: bans.map(viewBan), next: next ?? null, ...counts };
    },
  }),
];

/** A ban without an end was made by hand; the key's next request gives it one. */
function viewBan(ban: ActiveBan) {
  return { ...ban, endsAt: ban.endsAt === '' ? null : ban.endsAt };
}
