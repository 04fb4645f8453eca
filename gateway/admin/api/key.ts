import { z } from 'zod';
import { addBan, liftBan } from '../../operations/bans.ts';
import { InvalidOperation } from '../../operations/invalid-operation.ts';
import { banInput, graceInput, keyChangeInput } from '../../operations/key-input.ts';
import { keyDetailSchema, keyViewSchema, readKeyDetail, recordView } from '../../operations/key-view.ts';
import { changeKey, revokeKey, type IssuedApiKey } from '../../operations/keys.ts';
import { rotateKey } from '../../operations/rotate-key.ts';
import type { ChangingSession } from '../../operations/session.ts';
import { changeAndShow, limitedRoutes } from './limited-routes.ts';
import { changed, withWarnings } from './results.ts';
import { route, type Api, type Call } from './route.ts';

export const issuedKeySchema = changed(
  keyViewSchema.extend({ key: z.string().describe('In this response only') }),
);
/** Response of an operation that issues a key. */
export const issued = {
  responds: 'The key, which is in this response only, with its record',
  result: issuedKeySchema,
  status: 201,
};

/** Issues a key by an operation of the layer below. */
export async function respondIssued(
  { req }: Pick<Call<unknown>, 'req'>,
  { change }: Api,
  issue: (session: ChangingSession) => Promise<IssuedApiKey>,
): Promise<z.infer<typeof issuedKeySchema>> {
  const changed = await change(req, async (session) => {
    const { key, record } = await issue(session);
    return { key, ...recordView(record, session.now()) };
  });
  return withWarnings(changed);
}

const shown = { responds: 'The key', result: keyDetailSchema };
const changedKey = {
  responds: 'The key after the change',
  result: changed(keyDetailSchema).meta({ id: 'ChangedKey' }),
};

const change = changeAndShow(readKeyDetail);

/** One API key: what it is, what it uses, and changes of it. */
export const keyRoutes = [
  route.get('/keys/:id', {
    operationId: 'getKey',
    summary: 'One key, with its use now and what its next request gets',
    ...shown,
    handle: ({ target }, { read }) => read((session) => readKeyDetail(session, target)),
  }),
  route.patch('/keys/:id', {
    operationId: 'changeKey',
    summary: 'Change a key, from its next request on',
    description:
      'Fields that are absent stay as they are. 409 if somebody else has changed the key, its customer or another of its keys since `rev`.',
    input: keyChangeInput,
    ...changedKey,
    handle: (call, api) => change(call, api, (session) => changeKey(session, call.target, call.input)),
  }),
  route.post('/keys/:id/rotate', {
    operationId: 'rotateKey',
    summary: 'Issue a key that replaces another one, which works until the grace period ends',
    input: graceInput,
    ...issued,
    handle: ({ req, target, input }, api) =>
      respondIssued({ req }, api, (session) => rotateKey(session, target, input.graceSeconds * 1000)),
  }),
  // No rev: to revoke is right whatever else has changed, and doing it twice changes nothing.
  route.post('/keys/:id/revoke', {
    operationId: 'revokeKey',
    summary: 'Refuse a key for good, from its next request on, even if its record is invalid',
    ...changedKey,
    handle: (call, api) => change(call, api, (session) => revokeKey(session, call.target)),
  }),
  route.put('/keys/:id/ban', {
    operationId: 'banKey',
    summary: 'Ban a key from its next request on, in place of any other ban',
    input: banInput,
    ...changedKey,
    handle: (call, api) =>
      change(call, api, async (session) => {
        const { seconds = 0, until, reason } = call.input;
        const durationMs = until === undefined ? seconds * 1000 : until.getTime() - session.now();
        if (durationMs < 1) throw new InvalidOperation('the end of the ban is in the past');
        await addBan(session, call.target, durationMs, reason);
      }),
  }),
  route.delete('/keys/:id/ban', {
    operationId: 'liftBan',
    summary: 'End the ban of a key within a second, and forget the strikes that led to it',
    ...changedKey,
    handle: (call, api) => change(call, api, (session) => liftBan(session, call.target)),
  }),
  ...limitedRoutes({
    path: '/keys/:id',
    owner: 'the customer of a key',
    operationIds: { resetDay: 'resetDay', usage: 'getKeyUsage' },
    changed: changedKey,
    change,
  }),
];
