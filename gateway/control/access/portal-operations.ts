import { z } from 'zod';
import type { CustomerId } from '../../platform/redis/redis-keys.ts';
import { failureSchema, readFailures } from '../../quota/failures.ts';
import { dayUsageSchema } from '../../quota/usage.ts';
import { readCustomerUse, windowViewsSchema } from '../customers/customer-limits.ts';
import { customerState, customerViewSchema } from '../customers/find-customers.ts';
import { showCustomer } from '../customers/stored-customers.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { graceInput, portalKeyInput, withoutNulls } from '../keys/key-input.ts';
import { issueFurtherKey, revokeKey, rotateKey, type IssuedApiKey } from '../keys/keys.ts';
import { countInput, listOf } from '../list-schemas.ts';
import { change, list, read, type Operation, type OperationContext } from '../operation.ts';
import type { Session } from '../session.ts';
import { readLastDays } from '../usage/usage-record.ts';
import {
  assertNoneBanned,
  confineNewKey,
  findOwnKey,
  maxWorking,
  portalKeySchema,
  readKeysWithRoom,
  readPortalKey,
  readPortalKeys,
} from './portal-keys.ts';

export const portalCustomerSchema = customerViewSchema
  .pick({ id: true, name: true, plan: true, state: true })
  .extend({
    windows: windowViewsSchema,
    now: z.iso.datetime().describe('When this was read'),
  })
  .meta({ id: 'Customer' });

export const portalUsageSchema = z.object({
  days: z.array(dayUsageSchema).describe('Each day, also those without use, oldest first'),
});

export const portalFailuresSchema = listOf(failureSchema);
export const portalKeysSchema = listOf(portalKeySchema);

export const newPortalKeySchema = portalKeySchema
  .extend({ key: z.string().describe('In this response only') })
  .meta({ id: 'NewKey' });

const issued = {
  responds: 'The key, which is in this response only',
  result: newPortalKeySchema,
  status: 201,
};

/** The customer of the session: no operation is about another. */
function customerOf({ customer }: OperationContext): CustomerId {
  if (customer === undefined) throw new Error('an operation of the portal is called without its customer');
  return customer;
}

/** The same for a change. @throws InvalidOperation if the customer is suspended */
async function activeCustomer({ redis }: Session, context: OperationContext): Promise<CustomerId> {
  const { id, suspendedAt } = await showCustomer(redis, customerOf(context));
  if (suspendedAt === undefined) return id;
  throw new InvalidOperation(
    'your account is suspended: you can see your keys and your usage, and change nothing',
  );
}

/** All that a customer can do in the portal. */
export const portalOperations: readonly Operation[] = [
  read({
    operationId: 'getCustomer',
    http: 'GET /customer',
    summary: 'Plan, and what is used of its limits now',
    responds: 'The customer',
    result: portalCustomerSchema,
    async run(session, { context }) {
      const record = await showCustomer(session.redis, customerOf(context));
      const { windows, nowMs } = await readCustomerUse(session.redis, record);
      const { id, name, plan } = record;
      return { id, name, plan, state: customerState(record), windows, now: new Date(nowMs).toISOString() };
    },
  }),
  read({
    operationId: 'getUsage',
    http: 'GET /usage',
    summary: 'Use on each of the last UTC days',
    input: z.strictObject({ days: countInput(400, 30) }),
    responds: 'The use',
    result: portalUsageSchema,
    run: async (session, { context, input: { days } }) => ({
      days: await readLastDays(session, customerOf(context), days),
    }),
  }),
  list({
    operationId: 'listFailures',
    http: 'GET /failures',
    summary: 'Last failed requests of the last seven days, newest first',
    description: 'At most five of each code, so that many of one kind hide no other. Some seconds old.',
    responds: 'Failed requests',
    result: portalFailuresSchema,
    run: (session, { context }) => readFailures(session, customerOf(context)),
  }),
  list({
    operationId: 'listKeys',
    http: 'GET /keys',
    summary: 'API keys, also those that have ended in the last 90 days, newest first',
    responds: 'All of them',
    result: portalKeysSchema,
    run: (session, { context }) => readPortalKeys(session, customerOf(context)),
  }),
  change({
    operationId: 'createKey',
    http: 'POST /keys',
    summary: 'Create a key, which shares the limits of the others',
    input: portalKeyInput,
    ...issued,
    async run(session, { context, input }) {
      const customer = await activeCustomer(session, context);
      const made = await issueFurtherKey(session, customer, withoutNulls(input), (wanted) =>
        confineNewKey(session, customer, wanted),
      );
      return viewIssued(session, customer, made);
    },
  }),
  change({
    operationId: 'rotateKey',
    http: 'POST /keys/:id/rotate',
    summary: 'Create a key that replaces another one, which works until the grace period ends',
    input: graceInput,
    ...issued,
    async run(session, { context, target, input: { graceSeconds } }) {
      const customer = await activeCustomer(session, context);
      await findOwnKey(session, customer, target);
      const made = await rotateKey(session, target, graceSeconds * 1000, async (wanted) => {
        const keys = await readKeysWithRoom(session, customer, 2 * maxWorking);
        if (graceSeconds > 0) await assertNoneBanned(session, keys);
        return wanted;
      });
      return viewIssued(session, customer, made);
    },
  }),
  change({
    operationId: 'revokeKey',
    http: 'POST /keys/:id/revoke',
    summary: 'Refuse a key for good, from its next request on',
    responds: 'The key after the change',
    result: portalKeySchema,
    async run(session, { context, target }) {
      const customer = await activeCustomer(session, context);
      await findOwnKey(session, customer, target);
      await revokeKey(session, target);
      return readPortalKey(session, await findOwnKey(session, customer, target));
    },
  }),
];

async function viewIssued(session: Session, customer: CustomerId, { key, record }: IssuedApiKey) {
  return { key, ...(await readPortalKey(session, await findOwnKey(session, customer, record.id))) };
}
