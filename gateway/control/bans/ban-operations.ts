import { z } from 'zod';
import { banLengths } from '../../limits/lengths.ts';
import { banInput } from '../keys/key-input.ts';
import { keyShown } from '../keys/key-operations.ts';
import { countInput, nextInput, pageOf } from '../list-schemas.ts';
import { changeAndShow, list } from '../operation.ts';
import { allFound, position, readFoundPage } from '../scored-pages.ts';
import { addBan, banSchema, liftBan, searchBans, type ActiveBan } from './bans.ts';

export const banOperations = [
  list({
    operationId: 'listBans',
    http: 'GET /bans',
    command: {
      usage: 'bans list',
      says: 'active bans, soonest to expire first',
      columns: { ID: 'id', NAME: 'name', PLAN: 'plan', ENDS: 'endsAt', REASON: 'reason' },
    },
    summary: 'Active bans that gateways have observed or operators have made, soonest to expire first',
    input: z.strictObject({
      after: nextInput.regex(position, { error: 'is not the next of a page' }).optional(),
      limit: countInput(500, 100),
    }),
    responds: 'A page',
    result: pageOf(banSchema),
    run: (session) => allFound(session.redis, searchBans(session)),
    page: (session, { input: { after, limit: size } }) =>
      readFoundPage(session.redis, searchBans(session), { after, size, maxRead: size }),
  }),
  changeAndShow({
    operationId: 'banKey',
    http: 'PUT /keys/:id/ban',
    audits: 'banned',
    asks: {
      offer: 'Ban…',
      tone: 'danger',
      states: ['active', 'suspended', 'banned'],
      heading: 'Ban {name}',
      text: 'From its next request on, the key gets 429 until the ban ends. It replaces any other ban.',
      fields: {
        seconds: { label: 'For', choices: banLengths },
        reason: { label: 'Reason, which the client reads in its responses' },
      },
      done: '{name} is banned',
    },
    command: {
      usage: 'bans add <id>',
      says: 'ban a key from its next request on',
      examples: ['bans add key_282dd48c706990d481 --for 2h --reason "scraping"'],
      options: {
        seconds: {
          flags: '--for <duration>',
          says: 'length, such as 15m, 12h or 30d',
          from: 'duration',
        },
        reason: { says: 'reason; the client reads it in its responses' },
      },
    },
    summary: 'Ban a key from its next request on, in place of any other ban',
    input: banInput,
    ...keyShown,
    run: (session, { target, input: { seconds, reason } }) => addBan(session, target, seconds * 1000, reason),
  }),
  changeAndShow({
    operationId: 'liftBan',
    http: 'DELETE /keys/:id/ban',
    audits: 'lifted the ban of',
    asks: { offer: 'Lift the ban', states: ['banned'], done: 'The ban of {name} is lifted' },
    command: {
      usage: 'bans lift <id>',
      prints: ({ id, name }: ActiveBan) => ({ id, name, ban: 'lifted' }),
    },
    summary: 'End the ban of a key within a second, and forget the strikes that led to it',
    ...keyShown,
    run: (session, { target }) => liftBan(session, target),
  }),
];
