import { z } from 'zod';
import type { CustomerId } from '../../platform/redis/redis-keys.ts';
import { failureSchema, readFailures } from '../../quota/failures.ts';
import { dayUsageSchema } from '../../quota/usage-days.ts';
import { readCustomerUse, windowViewsSchema } from '../customers/customer-limits.ts';
import { customerState, customerViewSchema } from '../customers/find-customers.ts';
import { showCustomer } from '../customers/stored-customers.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { withoutNulls, type portalKeyInput } from '../keys/key-input.ts';
import { issueFurtherKey, revokeKey, type IssuedApiKey } from '../keys/keys.ts';
import { rotateKey } from '../keys/rotate-key.ts';
import type { Session } from '../session.ts';
import { readLastDays } from '../usage/usage-record.ts';
import {
  confineNewKey,
  findOwnKey,
  maxWorking,
  portalKeyPageSchema,
  portalKeySchema,
  readKeysWithRoom,
  readPortalKey,
  readPortalKeys,
  type PortalKey,
} from './portal-keys.ts';

/** What a customer does in the portal. The customer of the session comes first, so that no operation is about another. */
type Run<Input, Result> = (customer: CustomerId, session: Session, input: Input) => Promise<Result>;

export interface PortalRead<Input, Result> {
  kind: 'read';
  run: Run<Input, Result>;
}

/** It is audited, waits for Redis' disk, and is refused to a suspended customer. */
export interface PortalChange<Input, Result> {
  kind: 'change';
  run: Run<Input, Result>;
}

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

export const portalFailuresSchema = z.object({ items: z.array(failureSchema), next: z.null() });

export const newPortalKeySchema = portalKeySchema
  .extend({ key: z.string().describe('In this response only') })
  .meta({ id: 'NewKey' });

export { portalKeyPageSchema, portalKeySchema };

function reads<Input, Result>(run: Run<Input, Result>): PortalRead<Input, Result> {
  return { kind: 'read', run };
}

function changes<Input, Result>(run: Run<Input, Result>): PortalChange<Input, Result> {
  return {
    kind: 'change',
    async run(customer, session, input) {
      const { suspendedAt } = await showCustomer(session.redis, customer);
      if (suspendedAt !== undefined) throw new InvalidOperation(suspended);
      return run(customer, session, input);
    },
  };
}

const suspended = 'your account is suspended: you can see your keys and your usage, and change nothing';

/** All that a customer can do in the portal. */
export const portalOperations = {
  showCustomer: reads((customer, session, _input: object) => readPortalCustomer(customer, session)),
  showUsage: reads(async (customer, session, { days }: { days: number }) => ({
    days: await readLastDays(session, customer, days),
  })),
  listFailures: reads(async (customer, session, _input: object) => ({
    items: await readFailures(session, customer),
    next: null,
  })),
  listKeys: reads((customer, session, { after }: { after?: string | undefined }) =>
    readPortalKeys(session, customer, after),
  ),
  showKey: reads(async (customer, session, { id }: { id: string }) =>
    readPortalKey(session, await findOwnKey(session, customer, id)),
  ),
  createKey: changes(async (customer, session, input: z.output<typeof portalKeyInput>) => {
    const issued = await issueFurtherKey(session, customer, withoutNulls(input), (wanted) =>
      confineNewKey(session, customer, wanted),
    );
    return withKey(issued, customer, session);
  }),
  rotateKey: changes(
    async (customer, session, { id, graceSeconds }: { id: string; graceSeconds: number }) => {
      await findOwnKey(session, customer, id);
      const issued = await rotateKey(session, id, graceSeconds * 1000, async (wanted) => {
        await readKeysWithRoom(session, customer, 2 * maxWorking);
        return wanted;
      });
      return withKey(issued, customer, session);
    },
  ),
  revokeKey: changes(async (customer, session, { id }: { id: string }) => {
    await findOwnKey(session, customer, id);
    await revokeKey(session, id);
    return readPortalKey(session, await findOwnKey(session, customer, id));
  }),
};

async function readPortalCustomer(customer: CustomerId, session: Session) {
  const record = await showCustomer(session.redis, customer);
  const { windows, nowMs } = await readCustomerUse(session, record);
  const { id, name, plan } = record;
  return { id, name, plan, state: customerState(record), windows, now: new Date(nowMs).toISOString() };
}

async function withKey(
  { key, record }: IssuedApiKey,
  customer: CustomerId,
  session: Session,
): Promise<PortalKey & { key: string }> {
  return { key, ...(await readPortalKey(session, await findOwnKey(session, customer, record.id))) };
}
