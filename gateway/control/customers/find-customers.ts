import { z } from 'zod';
import type { CustomerRecord } from '../../keys/records.ts';
import { customerFields, searchedNames, searchedWords } from '../../limits/record-fields.ts';
import { forAll } from '../../limits/windows.ts';
import { redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { countBannedKeys } from '../bans/bans.ts';
import { keyRowSchema, readKeyRow, type KeyRow } from '../keys/key-view.ts';
import { assertSearchable } from '../keys/pasted-key.ts';
import { readKeyIds, readStoredKeys } from '../keys/stored-keys.ts';
import { pageOf, searchInput, textMatcher } from '../list-schemas.ts';
import { fieldViews, viewOf } from '../records.ts';
import type { Search } from '../scored-pages.ts';
import type { Session } from '../session.ts';
import { unitsOf } from '../usage/usage-months.ts';
import { readLastDays } from '../usage/usage-record.ts';
import { limitsInForceSchema, readCustomerUse, windowViewsSchema } from './customer-limits.ts';
import { findCustomer, showCustomer } from './stored-customers.ts';

/** A customer as operators see it. Every field is present, with null for what it does not have. */
export const customerViewSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    plan: z.string(),
    ...forAll(() => z.int().nullable().describe('Own limit; null for that of the plan')),
    state: z.enum(['active', 'suspended']).describe('All keys of a suspended customer are refused'),
    suspendedAt: z.string().nullable(),
    ...fieldViews(customerFields),
    createdAt: z.string(),
    keys: z.int().describe('Keys that it has, also revoked and expired ones'),
    rev: z.int().describe('Raised by every change of the customer or of one of its keys'),
  })
  .meta({ id: 'Customer' });

export type CustomerView = z.infer<typeof customerViewSchema>;

const shownDays = 30;

/** A customer in a list, with what it uses if that was asked for. */
export const customerRowSchema = customerViewSchema
  .extend({
    use: z.exactOptional(
      z
        .object({
          windows: windowViewsSchema,
          days: z.array(z.int()).describe(`Units of each of the last ${shownDays} UTC days, today last`),
          lastUsedOn: z.iso.date().nullable().describe('Last of these days with a request'),
          bannedKeys: z.int().describe('Keys with an active ban'),
        })
        .describe('What it uses, with all of its keys together'),
    ),
  })
  .meta({ id: 'CustomerRow' });

export type CustomerRow = z.infer<typeof customerRowSchema>;

/** A customer with its keys, which share its limits and what is used of them. */
export const customerDetailSchema = customerViewSchema
  .extend({
    limits: limitsInForceSchema,
    windows: windowViewsSchema,
    items: z.array(keyRowSchema).describe('Its keys, newest first'),
    now: z.iso.datetime().describe('When this was read'),
  })
  .meta({ id: 'CustomerDetail' });

export type CustomerDetail = z.infer<typeof customerDetailSchema>;

/** What customers have to match, all of it. */
export const customerConditions = z.strictObject({
  search: searchInput.describe(
    `Customers with the text in their ${searchedWords(customerFields)} or id. An API key is refused.`,
  ),
  plan: z.string().optional().describe('Customers on a plan'),
});

type CustomerConditions = z.output<typeof customerConditions>;

export const customerPageSchema = pageOf(customerRowSchema).extend({
  total: z.int().describe('Customers in all, whatever the conditions'),
});

/**
 * A search of the customers that match.
 * @param conditions use: whether what they use is read as well
 * @throws InvalidOperation for an API key
 */
export function searchCustomers(
  session: Session,
  { search = '', plan, use }: CustomerConditions & { use: boolean },
): Search<CustomerRow> {
  assertSearchable(search);
  const matches = textMatcher(search);

  async function findRow(id: string): Promise<CustomerRow | undefined> {
    const record = await findCustomer(session.redis, id);
    if (
      record === undefined ||
      (plan !== undefined && record.plan !== plan) ||
      !searched.some((name) => matches(record[name] ?? ''))
    )
      return undefined;
    const keys = await readKeyIds(session.redis, record.id);
    const view = customerView(record, keys.length);
    return use ? { ...view, use: await readRowUse(session, record, keys) } : view;
  }

  return { key: redisKeys.customers, find: (ids) => Promise.all(ids.map(findRow)) };
}

const searched = ['id', 'name', ...searchedNames(customerFields)] as const;

/** Costs some five Redis commands, and one for each key. */
async function readRowUse(
  session: Session,
  record: CustomerRecord,
  keys: readonly string[],
): Promise<NonNullable<CustomerRow['use']>> {
  const [{ windows }, days, bannedKeys] = await Promise.all([
    readCustomerUse(session.redis, record),
    readLastDays(session, record.id, shownDays),
    countBannedKeys(session, keys),
  ]);
  const lastUsedOn = days.findLast(({ served, refused }) => served + refused > 0)?.date ?? null;
  return { windows, days: days.map(unitsOf), lastUsedOn, bannedKeys };
}

/** @throws InvalidOperation if there is no such customer */
export async function readCustomerDetail(session: Session, id: string): Promise<CustomerDetail> {
  const record = await showCustomer(session.redis, id);
  const { keys } = await readKeys(session, record.id);
  const [items, { limits, windows, nowMs }] = await Promise.all([
    Promise.all(keys.map((key) => readKeyRow(session, key))),
    readCustomerUse(session.redis, record),
  ]);
  return {
    ...customerView(record, keys.length),
    limits,
    windows,
    items: items.toSorted(newestFirst),
    now: new Date(nowMs).toISOString(),
  };
}

const newestFirst = (one: KeyRow, other: KeyRow) => other.createdAt.localeCompare(one.createdAt);

/** The ids of a customer's keys, and those keys that have a record. */
export async function readKeys({ redis }: Session, id: CustomerId) {
  const ids = await readKeyIds(redis, id);
  return { ids, keys: await readStoredKeys(redis, ids) };
}

export async function readCustomerView({ redis }: Pick<Session, 'redis'>, record: CustomerRecord) {
  return customerView(record, (await readKeyIds(redis, record.id)).length);
}

export const customerView = (record: CustomerRecord, keys: number): CustomerView =>
  viewOf(customerViewSchema, { ...record, state: customerState(record), keys });

export const customerState = ({ suspendedAt }: CustomerRecord): CustomerView['state'] =>
  suspendedAt === undefined ? 'active' : 'suspended';
