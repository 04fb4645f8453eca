import { Cluster } from 'ioredis';
import { z } from 'zod';
import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { dayNumberOf, utcDate } from '../limits/utc-day.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import { fieldsOf } from '../redis/hash-reader.ts';
import { parseJson } from '../redis/parse-json.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, parsePlace, redisKeys } from '../redis/redis-keys.ts';
import { eventId, foundEvent, type EventData, type EventType, type FoundEvent } from './event-types.ts';

interface Entry {
  before: Record<string, unknown>;
  after: Record<string, unknown>;
  /** Of the key, or the customer itself. */
  customerId: string;
  target: string;
}

type Derived = { [Type in EventType]: { type: Type; data: EventData<Type> } }[EventType];

const text = (value: unknown) => (typeof value === 'string' ? value : '');
const textOrNull = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);

const keyOf = ({ customerId, target, after }: Entry) => ({
  customerId,
  keyId: target,
  keyName: text(after['name']),
});

function planChange({ customerId, before, after }: Entry): Derived | undefined {
  const [from, to] = [text(before['plan']), text(after['plan'])];
  return from === to ? undefined : { type: 'plan.changed', data: { customerId, from, to } };
}

/** Events that follow from what operators and customers change, by the action in the audit log. */
const derivations: { [Action in AuditAction]?: (entry: Entry) => Derived | undefined } = {
  'keys.issue': (entry) => {
    const { expiresAt, replaces } = entry.after;
    const data = { ...keyOf(entry), expiresAt: textOrNull(expiresAt), replaces: textOrNull(replaces) };
    return { type: 'key.created', data };
  },
  'keys.rotate': (entry) => {
    const { expiresAt, replacedBy } = entry.after;
    const data = { ...keyOf(entry), expiresAt: textOrNull(expiresAt), replacedBy: text(replacedBy) };
    return { type: 'key.rotated', data };
  },
  'keys.revoke': (entry) => ({
    type: 'key.revoked',
    data: { ...keyOf(entry), revokedAt: text(entry.after['revokedAt']) },
  }),
  'keys.set': planChange,
  'customers.set': planChange,
  'customers.suspend': ({ customerId, after }) => ({
    type: 'customer.suspended',
    data: { customerId, suspendedAt: text(after['suspendedAt']) },
  }),
  'bans.add': (entry) => {
    const { endsAt, reason } = entry.after;
    return { type: 'ban.began', data: { ...keyOf(entry), endsAt: text(endsAt), reason: textOrNull(reason) } };
  },
};

const recorded = z.record(z.string(), z.unknown()).catch({});

/** In a cluster, an entry may be followed for so long by one that says that its change was not made. */
const settledMs = 5000;

type StreamItem = [id: string, fields: string[]];

/**
 * Events that follow from the entries of the audit log after one, oldest first.
 * @returns also the id of the last entry that was read; undefined if there is none
 */
export async function readAuditEvents(
  redis: RedisClient,
  after: string,
  count: number,
  nowMs: number,
): Promise<{ events: FoundEvent[]; last: string | undefined }> {
  const items = await readAuditAfter(redis, after, count);
  const isCluster = redis instanceof Cluster;
  const notMade = await readRefuted(redis, items, isCluster ? count : Infinity);
  const settledBefore = isCluster ? nowMs - settledMs : Infinity;
  const settled = items.filter((item) => entryMs(item) <= settledBefore);
  const events: FoundEvent[] = [];
  for (const item of settled) {
    const event = await auditEvent(redis, item, notMade);
    if (event !== undefined) events.push(event);
  }
  return { events, last: settled.at(-1)?.[0] };
}

function readAuditAfter(redis: RedisClient, id: string, count: number): Promise<StreamItem[]> {
  return redis.xrange(redisKeys.audit, `(${id}`, '+', 'COUNT', count);
}

/**
 * The event that follows from an entry of the audit log, whose id is derived from that of the entry.
 * @param notMade ids of entries whose change was not made
 */
async function auditEvent(
  redis: RedisClient,
  [id, list]: StreamItem,
  notMade: ReadonlySet<string>,
): Promise<FoundEvent | undefined> {
  const { action = '', target = '', before = '', after = '', ...fields } = fieldsOf(list);
  const derive = Object.entries(derivations).find(([name]) => name === action)?.[1];
  if (derive === undefined || fields['notMade'] !== undefined || notMade.has(id)) return undefined;
  const changes = { before: recorded.parse(parseJson(before)), after: recorded.parse(parseJson(after)) };
  const customerId = isCustomerId(target) ? target : await customerOf(redis, target, changes.after);
  if (customerId === undefined) return undefined;
  const derived = derive({ ...changes, customerId, target });
  if (derived === undefined) return undefined;
  const atMs = Number(id.split('-')[0]);
  return {
    id: eventId('audit', id),
    ...derived,
    customerId,
    at: new Date(atMs).toISOString(),
    period: utcDate(dayNumberOf(atMs)),
  };
}

/**
 * The event of a key that was issued from a file, which has no entry of its own. It is published with the key, and by the sweep
 * if that process was killed.
 */
export function issuedFromFile(record: IssuedFromFile): FoundEvent {
  const { id: keyId, customerId, name: keyName, createdAt } = record;
  const atMs = Date.parse(createdAt);
  const expiresAt = textOrNull(record.expiresAt);
  const data = { customerId, keyId, keyName, expiresAt, replaces: null };
  const period = utcDate(dayNumberOf(atMs));
  return foundEvent({ type: 'key.created', customerId, atMs, data, identity: [keyId], period });
}

interface IssuedFromFile extends Pick<ApiKeyRecord, 'id' | 'customerId' | 'name' | 'createdAt'> {
  expiresAt?: string | null | undefined;
}

async function customerOf(redis: RedisClient, keyId: string, { customerId }: Record<string, unknown>) {
  if (typeof customerId === 'string' && isCustomerId(customerId)) return customerId;
  return parsePlace((await redis.hget(redisKeys.apiKeyIds, keyId)) ?? '')?.customerId;
}

/**
 * Ids of the entries of which others say that their change was not made: those of a page, and in a cluster those of the next
 * seconds after it.
 * @param fullPage length of a page after which there may be others
 */
async function readRefuted(
  redis: RedisClient,
  items: readonly StreamItem[],
  fullPage: number,
): Promise<Set<string>> {
  const refuted = new Set<string>();
  const endMs = entryMs(items.at(-1)) + settledMs;
  for (let page = items; ;) {
    for (const [, list] of page) refuted.add(fieldsOf(list)['notMade'] ?? '');
    const last = page.at(-1);
    if (last === undefined || page.length < fullPage || entryMs(last) > endMs) return refuted;
    page = await readAuditAfter(redis, last[0], fullPage);
  }
}

const entryMs = (item: StreamItem | undefined) => Number(item?.[0].split('-')[0] ?? 0);
