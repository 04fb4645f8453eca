import { z } from 'zod';
import { apiKeyState } from '../../keys/api-key-record.ts';
import { formatCustomerRecord, type CustomerRecord } from '../../keys/customer-record.ts';
import { byText, customerTexts, type CustomerTexts } from '../../limits/customer-texts.ts';
import { changedLimits, type Limits } from '../../limits/limits.ts';
import { forAll, withoutWindows, type ByWindow } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { parsePosition, readFoundPage, scoredPages } from '../bans/scored-pages.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { addCustomerToIndex, forgetKeys, placesOf } from '../keys/api-key-index.ts';
import { assertPermitted, changed, listPlan } from '../keys/key-limits.ts';
import { createKeyRows, keyDetailSchema, keyRowSchema, limitsView, type KeyRow } from '../keys/key-view.ts';
import { readKeyWindows, windowViewsSchema } from '../keys/key-windows.ts';
import { createLimitsReader, knownLimitsIn, limitsInForceSchema } from '../keys/limits-in-force.ts';
import { nextRequest, nextRequestSchema, refusedForGood } from '../keys/next-request.ts';
import { assertSearchable } from '../keys/pasted-key.ts';
import { readStoredKeys, retryOvertaken } from '../keys/stored-keys.ts';
import { assertRev } from '../overtaken-change.ts';
import { assertPlanName } from '../plans/plan-names.ts';
import { recordChangeCall } from '../record-change-call.ts';
import type { ReadingSession, Session } from '../session.ts';
import {
  findCustomer,
  newCustomer,
  showCustomer,
  storedCustomerPages,
  updateCustomer,
} from './stored-customers.ts';
import { textMatcher } from './text-matcher.ts';

const textOrNull = z.string().nullable();

/** A customer as operators see it. Every field is present, with null for what it does not have. */
export const customerViewSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    plan: z.string(),
    ...forAll(() => z.int().nullable().describe('Own limit; null for that of the plan')),
    state: z.enum(['active', 'suspended']).describe('All keys of a suspended customer are refused'),
    suspendedAt: textOrNull,
    ...byText((name) => textOrNull.describe(customerTexts[name].meaning)),
    createdAt: z.string(),
    keys: z.int().describe('Keys that it has, also revoked and expired ones'),
    rev: z.int().describe('Raised by every change of the customer or of one of its keys'),
  })
  .meta({ id: 'Customer' });

export type CustomerView = z.infer<typeof customerViewSchema>;

/** A customer with its keys, which share its limits and what is used of them. */
export const customerDetailSchema = customerViewSchema
  .extend({
    own: keyDetailSchema.shape.own,
    limits: limitsInForceSchema,
    windows: windowViewsSchema,
    next: nextRequestSchema,
    items: z.array(keyRowSchema).describe('Its keys, newest first'),
    now: z.iso.datetime().describe('When this was read'),
  })
  .meta({ id: 'CustomerDetail' });

export type CustomerDetail = z.infer<typeof customerDetailSchema>;

export interface NewCustomer extends Limits, CustomerTexts<string | null> {
  name: string;
  plan: string;
}

/** Undefined leaves a field unchanged; null removes it. */
export interface CustomerChange extends CustomerTexts<string | null>, ByWindow<number | null> {
  name?: string | undefined;
  plan?: string | undefined;
  /** Rev of the record that the change is based on; any if undefined. */
  rev?: number | undefined;
}

/**
 * Makes a customer without a key.
 * @throws InvalidOperation for an unknown plan, or Enterprise without a limit of its own
 */
export async function createCustomer(session: Session, wanted: NewCustomer): Promise<CustomerView> {
  const { redis, audit, now } = session;
  await assertPermitted(redis, wanted);
  const texts = byText((name) => wanted[name] ?? undefined);
  const record = newCustomer({ ...wanted, ...texts }, now());
  await listPlan(redis, record);
  await addCustomerToIndex(redis, record);
  const { rev: _unknownYet, ...after } = record;
  const rev = await audit.make([{ action: 'customers.create', target: record.id, before: null, after }], {
    script: 'changeRecordAudited',
    ...recordChangeCall({ customerId: record.id, rev: 0, customer: formatCustomerRecord(record) }),
  });
  return viewOf({ ...record, rev: rev ?? 0 }, 0);
}

/**
 * Changes a customer, from the next request of any of its keys on.
 * @throws InvalidOperation as createCustomer does, and if there is no such customer; OvertakenChange for another rev
 */
export async function changeCustomer(
  session: Session,
  id: string,
  change: CustomerChange,
): Promise<CustomerView> {
  const { redis } = session;
  const record = await updateCustomer(session, id, 'customers.set', async (before) => {
    assertRev(before, change.rev);
    const edited: CustomerRecord = {
      ...withoutWindows(before),
      name: change.name ?? before.name,
      plan: change.plan ?? before.plan,
      ...changedLimits(before, change),
      ...byText((name) => changed(before[name], change[name])),
    };
    await assertPermitted(redis, edited);
    await listPlan(redis, edited);
    return edited;
  });
  return view(session, record);
}

/** Refuses all keys of a customer from their next request on. Suspending it again changes nothing. */
export async function suspendCustomer(session: Session, id: string): Promise<CustomerView> {
  let record = await showCustomer(session.redis, id);
  if (record.suspendedAt === undefined) {
    const suspendedAt = new Date(session.now()).toISOString();
    record = await updateCustomer(session, id, 'customers.suspend', (before) => ({ ...before, suspendedAt }));
  }
  return view(session, record);
}

/** Ends a suspension, from the next request on. @throws InvalidOperation for a customer that is not suspended */
export async function resumeCustomer(session: Session, id: string): Promise<CustomerView> {
  const record = await updateCustomer(session, id, 'customers.resume', (before) => {
    if (before.suspendedAt === undefined) throw new InvalidOperation(`the customer ${id} is not suspended`);
    return { ...before, suspendedAt: undefined };
  });
  return view(session, record);
}

/**
 * Deletes a customer whose keys have all ended, with the records of these. Its record of use stays.
 * @throws InvalidOperation if there is no such customer, or one of its keys is valid or suspended
 */
export async function removeCustomer(session: Session, id: string): Promise<CustomerView> {
  const { redis, audit } = session;
  return retryOvertaken(id, async () => {
    const record = await showCustomer(redis, id);
    const { ids, keys } = await findEndedKeys(session, record.id);
    const removed = await audit.make(
      [{ action: 'customers.remove', target: id, before: record, after: null }],
      {
        script: 'removeCustomerAudited',
        keys: [
          redisKeys.customer(record.id),
          redisKeys.customerKeys(record.id),
          redisKeys.failures(record.id),
          ...keys.flatMap(({ place }) => [redisKeys.apiKey(place), redisKeys.keyUse(place)]),
        ],
        args: [record.rev],
      },
    );
    if (!removed) return undefined;
    await removeFromIndexes(redis, record.id, ids);
    return viewOf(record, keys.length);
  });
}

/** @throws InvalidOperation if a key of the customer has not ended */
async function findEndedKeys(session: Session, id: CustomerId) {
  const found = await readKeys(session, id);
  for (const { record } of found.keys) {
    const state = apiKeyState(record, session.now());
    if (state === 'revoked' || state === 'expired') continue;
    throw new InvalidOperation(`the customer ${id} has the key ${record.id}, which is ${state}: revoke it`);
  }
  return found;
}

/** @param ids of its keys, also of those that have no record any more */
async function removeFromIndexes(redis: RedisClient, id: CustomerId, ids: readonly string[]): Promise<void> {
  const places = (await placesOf(redis, ids)).filter((place) => place !== undefined);
  for (const { keyHash } of places) await redis.del(redisKeys.keyCustomer(keyHash));
  await forgetKeys(redis, ids);
  await redis.zrem(redisKeys.customers, id);
}

interface CustomerConditions {
  /** Part of the name, contact, reference or id. */
  search?: string | undefined;
  plan?: string | undefined;
}

interface CustomerPageOptions extends CustomerConditions {
  /** `next` of the page before. */
  after?: string | undefined;
  /** Maximum number of customers to return. */
  size: number;
  /** Number of customers to read after which the page ends, however few of them match. */
  maxRead: number;
}

export const customerPageSchema = z.object({
  items: z.array(customerViewSchema),
  next: z.string().nullable(),
  total: z.int().describe('Customers in all, whatever the conditions'),
});

/**
 * One page of the customers that match, newest first.
 * @throws InvalidOperation for an API key and for an invalid `after`
 */
export async function readCustomerPage(
  session: Session,
  { search, plan, after, size, maxRead }: CustomerPageOptions,
): Promise<z.infer<typeof customerPageSchema>> {
  const { redis } = session;
  assertSearchable(search ?? '');
  const matches = customerMatcher({ search, plan });
  const total = await redis.zcard(redisKeys.customers);
  const pages = scoredPages(redis, {
    key: redisKeys.customers,
    order: 'descending',
    after: parsePosition(after),
    size: size + 1,
  });
  const { found, next } = await readFoundPage(pages, { size, maxRead }, async (members) => {
    const records = await Promise.all(
      members.map(async (at) => ({ at, record: await findCustomer(redis, at.member) })),
    );
    return records.flatMap(({ at, record }) => (record && matches(record) ? [{ at, record }] : []));
  });
  const items = await Promise.all(found.map(({ record }) => view(session, record)));
  return { items, next, total };
}

function customerMatcher({ search = '', plan }: CustomerConditions) {
  const matches = textMatcher(search);
  return (record: CustomerRecord) =>
    (plan === undefined || record.plan === plan) &&
    [record.id, record.name, record.contact, record.reference].some(
      (text) => text !== undefined && matches(text),
    );
}

/**
 * All customers that match by time of creation, in pages.
 * @throws InvalidOperation for a plan that does not exist
 */
export async function* listCustomers(
  session: Session,
  conditions: CustomerConditions = {},
): AsyncGenerator<CustomerView[]> {
  const matches = customerMatcher(conditions);
  await assertPlanName(session.redis, conditions.plan);
  for await (const records of storedCustomerPages(session.redis)) {
    yield Promise.all(records.filter(matches).map((record) => view(session, record)));
  }
}

/** What a customer may use and uses now, with all of its keys together. */
export async function readCustomerUse(
  session: ReadingSession,
  record: CustomerRecord,
  limitsOf = createLimitsReader(session),
) {
  const limits = await limitsOf(record);
  const place = { customerId: record.id, keyHash: '' };
  return { limits, ...(await readKeyWindows(session.redis, place, knownLimitsIn(limits))) };
}

/** @throws InvalidOperation if there is no such customer */
export async function readCustomerDetail(session: Session, id: string): Promise<CustomerDetail> {
  const record = await showCustomer(session.redis, id);
  const { keys } = await readKeys(session, record.id);
  const [items, { limits, windows, nowMs }] = await Promise.all([
    Promise.all(keys.map(createKeyRows(session))),
    readCustomerUse(session, record),
  ]);
  return {
    ...viewOf(record, keys.length),
    own: limitsView(record),
    limits,
    windows,
    next:
      record.suspendedAt === undefined
        ? nextRequest({ ban: null, windows })
        : refusedForGood('suspended', record.suspendedAt),
    items: items.toSorted(newestFirst),
    now: new Date(nowMs).toISOString(),
  };
}

const newestFirst = (one: KeyRow, other: KeyRow) => other.createdAt.localeCompare(one.createdAt);

/** The ids of a customer's keys, and those keys that have a record. */
async function readKeys({ redis }: Session, id: CustomerId) {
  const ids = await redis.smembers(redisKeys.customerKeys(id));
  return { ids, keys: await readStoredKeys(redis, ids) };
}

async function view(session: Session, record: CustomerRecord): Promise<CustomerView> {
  return viewOf(record, (await session.redis.smembers(redisKeys.customerKeys(record.id))).length);
}

function viewOf(record: CustomerRecord, keys: number): CustomerView {
  const { id, name, plan, suspendedAt, createdAt, rev } = record;
  return {
    id,
    name,
    plan,
    ...limitsView(record),
    state: customerState(record),
    suspendedAt: suspendedAt ?? null,
    ...byText((text) => record[text] ?? null),
    createdAt,
    keys,
    rev,
  };
}

export const customerState = ({ suspendedAt }: CustomerRecord): CustomerView['state'] =>
  suspendedAt === undefined ? 'active' : 'suspended';
