import { randomBytes } from 'node:crypto';
import {
  failingField,
  readDeliveries,
  readEventsAfter,
  tellLeader,
  type DeliveryEntry,
} from '../events/delivery-store.ts';
import { publishEvent } from '../events/event-publisher.ts';
import { eventId, eventTypes, isEventType, type FoundEvent } from '../events/event-types.ts';
import { feedField, feedPosition } from '../events/usage-feed.ts';
import { rulesOfCustomers, webhookUrlIssue, type WebhookRules } from '../events/webhook-address.ts';
import {
  formatWebhook,
  isFor,
  parseSecrets,
  parseWebhooks,
  wantsType,
  type Webhook,
} from '../events/webhook-record.ts';
import { generateWebhookSecret } from '../events/webhook-signature.ts';
import { dayNumberOf, utcDate } from '../limits/utc-day.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import { isCustomerId, redisKeys, type WebhookOwner } from '../redis/redis-keys.ts';
import { InvalidOperation, UnknownId } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { changeSettings, readSettings } from './settings-hash.ts';
import { showCustomer } from './stored-customers.ts';
import { webhookView, type WebhookView } from './webhook-view.ts';

const maxWebhooks = { operators: 20, customer: 5 };
/** Time for which the secret before signs as well. */
export const defaultOverlapMs = 86_400_000;
/** Tests of the webhooks of one owner in a minute of the clock. */
const maxTests = 30;
const replayPage = 1000;

export interface NewWebhook {
  url: string;
  /** Null for all types. */
  types?: readonly string[] | null | undefined;
  description?: string | null | undefined;
}

/** Undefined leaves a field unchanged. */
export interface WebhookChange extends Omit<NewWebhook, 'url'> {
  url?: string | undefined;
  enabled?: boolean | undefined;
}

/** With its secret, which is shown this once. */
export type WebhookWithSecret = WebhookView & { secret: string };

/** Webhooks of an owner, oldest first. */
export async function listWebhooks(session: Session, owner: WebhookOwner): Promise<WebhookView[]> {
  const webhooks = await readOf(session, owner);
  return Promise.all(webhooks.map((webhook) => webhookView(session, webhook)));
}

async function readOf({ redis }: Pick<Session, 'redis'>, owner: WebhookOwner): Promise<Webhook[]> {
  return parseWebhooks(owner, await readSettings(redis, redisKeys.webhooks(owner)));
}

/** @throws InvalidOperation for an address that may not be used, an unknown type, or too many webhooks */
export async function addWebhook(
  session: Session,
  owner: WebhookOwner,
  { url, types = null, description = null }: NewWebhook,
  rules: WebhookRules,
): Promise<WebhookWithSecret> {
  const { redis, now } = session;
  assertValid(owner, { url, types }, rules);
  if (isCustomerId(owner)) await showCustomer(redis, owner);
  const webhook: Webhook = {
    id: `wh_${randomBytes(8).toString('hex')}`,
    owner,
    url,
    types: types === null ? null : [...types],
    enabled: true,
    description,
    createdAt: new Date(now()).toISOString(),
  };
  const max = isCustomerId(owner) ? maxWebhooks.customer : maxWebhooks.operators;
  const secret = generateWebhookSecret();
  await redis.sadd(redisKeys.webhookOwners, owner);
  await redis.hset(redisKeys.webhookSecrets(owner), webhook.id, JSON.stringify({ secret }));
  try {
    await write(session, webhook.id, owner, 'webhooks.add', (_before, all) => {
      if (all.length >= max)
        throw new InvalidOperation(`there are ${max} webhooks already: remove one first`);
      return webhook;
    });
  } catch (error) {
    await redis.hdel(redisKeys.webhookSecrets(owner), webhook.id);
    throw error;
  }
  return { ...(await webhookView(session, webhook)), secret };
}

/** Switching a webhook on ends that it was disabled. @throws InvalidOperation as addWebhook does, or if there is none */
export async function changeWebhook(
  session: Session,
  owner: WebhookOwner,
  id: string,
  change: WebhookChange,
  rules: WebhookRules,
): Promise<WebhookView> {
  assertValid(owner, change, rules);
  if (change.enabled === true) {
    // Nobody ends the failure of another owner's webhook.
    await findWebhook(session, owner, id);
    await session.redis.hdel(redisKeys.eventState, failingField(id));
  }
  const after = await write(session, id, owner, 'webhooks.set', (before) => {
    const { url = before?.url, types, description, enabled } = change;
    const known = found(before, id);
    return {
      ...known,
      url: url ?? known.url,
      types: types === undefined ? known.types : types && [...types],
      description: description === undefined ? known.description : description,
      enabled: enabled ?? known.enabled,
    };
  });
  return webhookView(session, found(after, id));
}

/** @throws InvalidOperation if there is none */
export async function removeWebhook(session: Session, owner: WebhookOwner, id: string): Promise<WebhookView> {
  const { redis } = session;
  const view = await webhookView(session, await findWebhook(session, owner, id));
  await write(session, id, owner, 'webhooks.remove', (before) => {
    found(before, id);
    return undefined;
  });
  await redis.hdel(redisKeys.webhookSecrets(owner), id);
  await forgetDeliveries(session, id);
  return view;
}

/** Deletes what is kept of the deliveries of a webhook that was removed. */
export async function forgetDeliveries({ redis }: Pick<Session, 'redis'>, id: string): Promise<void> {
  await redis.hdel(redisKeys.eventState, failingField(id), feedField(id));
  await redis.del(redisKeys.eventQueue(id), redisKeys.deadEvents(id), redisKeys.deliveries(id));
}

/** @throws InvalidOperation if there is none */
export async function findWebhook(session: Session, owner: WebhookOwner, id: string): Promise<Webhook> {
  return found(
    (await readOf(session, owner)).find((webhook) => webhook.id === id),
    id,
  );
}

/**
 * Replaces the secret. The one before signs as well for a time, so that receivers can change over. Of two rotations at once, the
 * second one replaces the secret of the first.
 * @throws InvalidOperation if there is no such webhook
 */
export async function rotateWebhookSecret(
  session: Session,
  owner: WebhookOwner,
  id: string,
  overlapMs: number,
): Promise<WebhookWithSecret> {
  const secret = generateWebhookSecret();
  const { webhook } = await changeSettings(session, redisKeys.webhookSecrets(owner), async (fields) => {
    // In each attempt: it may have been removed.
    const webhook = await findWebhook(session, owner, id);
    const before = parseSecrets(fields[id]);
    const until = new Date(session.now() + overlapMs).toISOString();
    const previous =
      before === undefined || overlapMs === 0 ? {} : { previous: { secret: before.secret, until } };
    return {
      webhook,
      fields: { [id]: JSON.stringify({ secret, ...previous }) },
      entry: {
        action: 'webhooks.rotate-secret',
        target: id,
        before: null,
        after: { owner, overlapUntil: until },
      },
    };
  });
  return { ...(await webhookView(session, webhook)), secret };
}

/**
 * Sends an event of the type webhook.test to this webhook alone.
 * @returns id of the event, which is in its deliveries soon
 * @throws InvalidOperation if there is no such webhook, it is off or disabled, or its owner has had too many tests in this minute
 */
export async function testWebhook(session: Session, owner: WebhookOwner, id: string): Promise<string> {
  const { redis, now } = session;
  const webhook = await findWebhook(session, owner, id);
  const { state } = await webhookView(session, webhook);
  if (state === 'off' || state === 'disabled')
    throw new InvalidOperation(`the webhook ${id} is ${state}: switch it on first`);
  const atMs = now();
  // Each id is published once, so these are the bound of all gateways.
  for (let test = 0; test < maxTests; test += 1) {
    const event: FoundEvent = {
      id: eventId('webhook.test', owner, Math.floor(atMs / 60_000), test),
      type: 'webhook.test',
      customerId: isCustomerId(owner) ? owner : undefined,
      at: new Date(atMs).toISOString(),
      data: { webhookId: id },
      webhook: id,
      period: utcDate(dayNumberOf(atMs)),
    };
    if (await publishEvent(redis, event)) return event.id;
  }
  throw new InvalidOperation(`there were ${maxTests} tests in this minute: wait for the next one`);
}

/** The newest attempts, newest first. @throws InvalidOperation if there is no such webhook */
export async function readWebhookDeliveries(
  session: Session,
  owner: WebhookOwner,
  id: string,
): Promise<DeliveryEntry[]> {
  await findWebhook(session, owner, id);
  return readDeliveries(session.redis, id);
}

/**
 * Sends events again: those that were given up, or all since a time that are still kept, and the use by day from that day on.
 * @returns the number of events; the use by day does not count
 * @throws InvalidOperation if there is no such webhook
 */
export async function replayEvents(
  session: Session,
  owner: WebhookOwner,
  id: string,
  since?: Date,
): Promise<{ replayed: number }> {
  const { redis, audit } = session;
  const webhook = await findWebhook(session, owner, id);
  const streamIds =
    since === undefined
      ? await redis.zrange(redisKeys.deadEvents(id), '0', '-1')
      : await eventsSince(session, webhook, since);
  for (const streamId of streamIds) {
    await redis.zadd(redisKeys.eventQueue(id), 'NX', 0, streamId);
    await redis.zrem(redisKeys.deadEvents(id), streamId);
  }
  if (since !== undefined && wantsType(webhook, 'usage.day')) {
    const date = utcDate(dayNumberOf(since.getTime()));
    const next = feedPosition(webhook, await redis.hget(redisKeys.eventState, feedField(id)));
    // Days that the webhook has yet to get are not skipped.
    if (date <= next.date) await redis.hset(redisKeys.eventState, feedField(id), `${date} `);
  }
  const after = { owner, since: since?.toISOString(), replayed: streamIds.length };
  await audit({ action: 'webhooks.replay', target: id, before: null, after });
  await tellLeader(redis);
  return { replayed: streamIds.length };
}

async function eventsSince({ redis }: Session, webhook: Webhook, since: Date): Promise<string[]> {
  const start = since.toISOString();
  const streamIds: string[] = [];
  for (let cursor = `${Math.max(0, since.getTime() - 1)}-0`; ;) {
    const { events, last } = await readEventsAfter(redis, cursor, replayPage);
    if (last === undefined) return streamIds;
    // Also those of before it was made, but no tests.
    const wanted = events.filter(
      (event) => event.webhook === undefined && isFor({ ...webhook, createdAt: start }, event),
    );
    streamIds.push(...wanted.map(({ streamId }) => streamId));
    cursor = last;
  }
}

function found(webhook: Webhook | undefined, id: string): Webhook {
  if (webhook === undefined) throw new UnknownId(`there is no webhook ${JSON.stringify(id)} of this owner`);
  return webhook;
}

/** @throws InvalidOperation */
function assertValid(owner: WebhookOwner, { url, types }: WebhookChange, rules: WebhookRules): void {
  const own = owner === 'operators' ? rules : rulesOfCustomers(rules);
  const issue = url === undefined ? undefined : webhookUrlIssue(url, own);
  if (issue !== undefined) throw new InvalidOperation(`the address of the webhook ${issue}`);
  for (const type of types ?? []) {
    if (!isEventType(type)) {
      throw new InvalidOperation(
        `there is no type of event ${JSON.stringify(type)}: it is one of ${Object.keys(eventTypes).join(', ')}`,
      );
    }
    if ('forOperators' in eventTypes[type] && owner !== 'operators') {
      throw new InvalidOperation(`events of the type ${type} are sent to webhooks of operators only`);
    }
  }
  if (types?.length === 0)
    throw new InvalidOperation('the list of types is empty: leave it out for all of them');
}

/** Changes one webhook of an owner, audited without what may be secret: the path of its address. */
async function write(
  session: Session,
  id: string,
  owner: WebhookOwner,
  action: AuditAction,
  decide: (before: Webhook | undefined, all: readonly Webhook[]) => Webhook | undefined,
): Promise<Webhook | undefined> {
  let after: Webhook | undefined;
  await changeSettings(session, redisKeys.webhooks(owner), (fields) => {
    const all = parseWebhooks(owner, fields);
    const before = all.find((webhook) => webhook.id === id);
    after = decide(before, all);
    return Promise.resolve({
      fields: { [id]: after === undefined ? '' : formatWebhook(after) },
      entry: { action, target: id, before: audited(before), after: audited(after) },
    });
  });
  await tellLeader(session.redis);
  return after;
}

const audited = (webhook: Webhook | undefined) =>
  webhook === undefined ? null : { ...webhook, url: `${URL.parse(webhook.url)?.origin ?? ''}/…` };
