import { z } from 'zod';
import { apiKeyState, type OwnFields } from '../api-keys/api-key-record.ts';
import { keyUseSchema } from '../quota/key-use.ts';
import { redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { isBannedByOperator } from './bans.ts';
import { InvalidOperation, UnknownKey } from './invalid-operation.ts';
import { keyRowSchema, readKeyNow, type KeyRow } from './key-rows.ts';
import { recordView } from './key-view.ts';
import type { ReadingSession, Session } from './session.ts';
import { findStoredKey, readKeysOf, type PlacedKey } from './stored-keys.ts';

/** A key as its customer sees it. */
export const portalKeySchema = keyRowSchema
  .pick({
    id: true,
    name: true,
    hint: true,
    scopes: true,
    createdAt: true,
    expiresAt: true,
    revokedAt: true,
    replaces: true,
    replacedBy: true,
    state: true,
    bannedUntil: true,
    lastUsedAt: true,
  } satisfies Record<keyof OwnFields, true> & Partial<Record<keyof KeyRow, true>>)
  .extend({
    ...keyUseSchema.pick({ servedToday: true, refusedToday: true }).shape,
  })
  .meta({ id: 'Key' });

export type PortalKey = z.infer<typeof portalKeySchema>;

export const portalKeyPageSchema = z.object({
  items: z.array(portalKeySchema).describe('By id'),
  next: z.string().nullable().describe('Null at the end'),
});

const pageSize = 100;
/** Keys that work, and may be made in the portal. To rotate one is possible beyond that. */
const maxWorking = 50;
/** Those that have ended are kept for 90 days. */
const maxKept = 500;

/**
 * Finds a key of a customer.
 * @throws UnknownKey if there is none with the id, or it is another customer's: nobody learns which
 */
export async function findOwnKey(
  { redis }: Pick<Session, 'redis'>,
  customer: CustomerId,
  id: string,
): Promise<PlacedKey> {
  const key = await findStoredKey(redis, id);
  if (key?.place.customerId !== customer) throw new UnknownKey(id);
  return key;
}

export async function readPortalKey(
  session: ReadingSession,
  { place, record }: PlacedKey,
): Promise<PortalKey> {
  const view = recordView(record, session.now());
  const { use, shown } = await readKeyNow(session, place, view);
  const today = use ?? { servedToday: 0, refusedToday: 0 };
  return portalKeySchema.parse({ ...view, ...shown, ...today });
}

/** One page of the keys of a customer, also those that have ended. */
export async function readPortalKeys(
  session: ReadingSession,
  customer: CustomerId,
  after = '',
): Promise<z.infer<typeof portalKeyPageSchema>> {
  const ids = await readKeyIds(session, customer);
  const rest = ids.filter((id) => id > after);
  const page = rest.slice(0, pageSize);
  const keys = await readKeysOf(session.redis, customer, page);
  return {
    items: await Promise.all(keys.map((key) => readPortalKey(session, key))),
    next: rest.length > page.length ? (page.at(-1) ?? null) : null,
  };
}

/** @throws InvalidOperation if a customer has so many keys that the portal makes no further one, or is to have none */
export async function assertRoomForKey(
  session: ReadingSession,
  customer: CustomerId,
  change: 'create' | 'rotate',
): Promise<void> {
  const ids = await readKeyIds(session, customer);
  // Without reading them: an operator may have made any number.
  if (ids.length > 2 * maxKept) throw new InvalidOperation(tooManyKept);
  const keys = await readKeysOf(session.redis, customer, ids);
  if (keys.length >= maxKept) throw new InvalidOperation(tooManyKept);
  if (change === 'create') await assertNoneBanned(session, keys);
  const working = keys.filter(({ record }) =>
    ['valid', 'suspended'].includes(apiKeyState(record, session.now())),
  );
  if (working.length < (change === 'create' ? maxWorking : 2 * maxWorking)) return;
  throw new InvalidOperation(
    `you have ${working.length} keys that work, and ${maxWorking} can be made here: revoke one that you do not need`,
  );
}

/** A further key would undo the ban. The ban of a key that was revoked holds until its end, too. */
async function assertNoneBanned(session: ReadingSession, keys: readonly PlacedKey[]): Promise<void> {
  const banned = await Promise.all(keys.map(({ place }) => isBannedByOperator(session, place)));
  if (banned.includes(true)) throw new InvalidOperation(bannedByOperator);
}

const bannedByOperator =
  'your provider has banned one of your keys: until the ban ends, no further one can be made here';

const tooManyKept =
  `you have ${maxKept} keys, those included that ended in the last 90 days: ` +
  'no further one can be made here until the oldest are forgotten';

const readKeyIds = async ({ redis }: Pick<Session, 'redis'>, customer: CustomerId) =>
  (await redis.smembers(redisKeys.customerKeys(customer))).toSorted();
