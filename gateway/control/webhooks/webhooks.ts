import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { showCustomer } from '../customers/stored-customers.ts';
import { InvalidOperation, UnknownId } from '../invalid-operation.ts';
import { changeOf, nameInput } from '../keys/key-input.ts';
import { changeHash } from '../overtaken-change.ts';
import { viewOf } from '../records.ts';
import type { Session } from '../session.ts';
import { publishTest } from './event-queue.ts';
import { eventTypeNames } from './event-types.ts';
import {
  clearFailures,
  parseWebhooks,
  readDeliveries,
  readWebhooks,
  readWebhookStatus,
  type Delivery,
  type Webhook,
} from './stored-webhooks.ts';
import { hostIssue, parseWebhookUrl } from './webhook-address.ts';

const maxWebhooks = 20;

/** A webhook as people see it: without its secret. */
export const webhookSchema = z
  .object({
    id: z.string(),
    customerId: z.string().nullable().describe('Customer whose events it gets; null for all customers'),
    url: z.string(),
    types: z.array(z.string()).nullable().describe('Types of events that it gets; null for all'),
    description: z.string().nullable(),
    state: z
      .enum(['on', 'off', 'failing', 'disabled'])
      .describe(
        '`failing`: its last attempt failed. `disabled`: it has failed for 24 hours or is gone, and gets nothing',
      ),
    failingSince: z.iso.datetime().nullable(),
    disabledBecause: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Webhook' });

export type WebhookView = z.infer<typeof webhookSchema>;

const url = z.string('has to be a URL').max(1000, 'is longer than 1,000 characters');
const types = z
  .array(z.enum(eventTypeNames, `has to be a list of ${eventTypeNames.join(', ')}`))
  .min(1, 'is empty: give null for all types')
  .nullable()
  .describe('Null for all types');
const description = nameInput.nullable();

export const newWebhookInput = z.strictObject({
  url,
  types: types.optional(),
  description: description.optional(),
  customerId: z
    .string()
    .nullable()
    .describe('Customer whose events it gets; null for all customers')
    .optional(),
});

/** A field that is absent stays as it is. */
export const webhookChangeInput = changeOf(
  z.strictObject({ url, types, description, enabled: z.boolean() }).exactPartial(),
);

/** With its secret, which is shown this once. */
export type WebhookWithSecret = WebhookView & { secret: string };

/** Oldest first. */
export async function listWebhooks(session: Pick<Session, 'redis'>): Promise<WebhookView[]> {
  const webhooks = await readWebhooks(session.redis);
  return Promise.all(webhooks.map((webhook) => viewOfWebhook(session, webhook)));
}

/**
 * @param networks that webhooks may lead to although they are not public
 * @throws InvalidOperation for an address that may not be used, an unknown customer, or too many webhooks
 */
export async function addWebhook(
  session: Session,
  { url, types = null, description = null, customerId = null }: z.output<typeof newWebhookInput>,
  networks: readonly string[],
): Promise<WebhookWithSecret> {
  const { redis, now } = session;
  if (customerId !== null) await showCustomer(redis, customerId);
  const webhook: Webhook = {
    id: `wh_${randomBytes(8).toString('hex')}`,
    url: await checkedUrl(url, networks),
    customerId,
    types,
    enabled: true,
    description,
    createdAt: new Date(now()).toISOString(),
    // Standard Webhooks asks for 24 to 64 bytes.
    secret: `whsec_${randomBytes(32).toString('base64')}`,
  };
  await write(session, webhook.id, 'webhooks.add', (_before, all) => {
    if (all.length >= maxWebhooks)
      throw new InvalidOperation(`there are ${maxWebhooks} webhooks already: remove one first`);
    return webhook;
  });
  return { ...(await viewOfWebhook(session, webhook)), secret: webhook.secret };
}

/** Changes a webhook. Enabling it also ends the state disabled. @throws InvalidOperation as addWebhook does, or if no webhook has this id */
export async function changeWebhook(
  session: Session,
  id: string,
  change: z.output<typeof webhookChangeInput>,
  networks: readonly string[],
): Promise<WebhookView> {
  const checked = change.url === undefined ? {} : { url: await checkedUrl(change.url, networks) };
  const after = await write(session, id, 'webhooks.set', (before) => ({
    ...found(before, id),
    ...change,
    ...checked,
  }));
  if (change.enabled === true) await clearFailures(session.redis, id);
  return viewOfWebhook(session, found(after, id));
}

/** @throws InvalidOperation if no webhook has this id */
export async function removeWebhook(session: Session, id: string): Promise<WebhookView> {
  const { redis } = session;
  const view = await viewOfWebhook(session, await findWebhook(session, id));
  await write(session, id, 'webhooks.remove', (before) => {
    found(before, id);
    return undefined;
  });
  await redis.del(redisKeys.webhookStatus(id));
  await redis.del(redisKeys.webhookLog(id));
  return view;
}

/**
 * Sends an event of the type webhook.test to this webhook alone, in one attempt, also if it is off or disabled.
 * @returns id of the event, which is in its deliveries soon
 * @throws InvalidOperation if there is no such webhook
 */
export async function testWebhook(session: Session, id: string): Promise<string> {
  return publishTest(session.redis, await findWebhook(session, id), session.now());
}

/** The newest attempts, newest first. @throws InvalidOperation if there is no such webhook */
export async function readWebhookDeliveries(session: Session, id: string): Promise<Delivery[]> {
  await findWebhook(session, id);
  return readDeliveries(session.redis, id);
}

export async function findWebhook({ redis }: Pick<Session, 'redis'>, id: string): Promise<Webhook> {
  const webhooks = await readWebhooks(redis);
  return found(
    webhooks.find((webhook) => webhook.id === id),
    id,
  );
}

function found(webhook: Webhook | undefined, id: string): Webhook {
  if (webhook === undefined) throw new UnknownId(`there is no webhook ${JSON.stringify(id)}`);
  return webhook;
}

/** @returns the address as it is stored @throws InvalidOperation */
async function checkedUrl(text: string, networks: readonly string[]): Promise<string> {
  const parsed = parseWebhookUrl(text, networks);
  const issue = 'issue' in parsed ? parsed.issue : await hostIssue(parsed.url, networks);
  if ('issue' in parsed || issue !== undefined)
    throw new InvalidOperation(`the address of the webhook ${issue}`);
  return parsed.url;
}

async function viewOfWebhook({ redis }: Pick<Session, 'redis'>, webhook: Webhook): Promise<WebhookView> {
  const { failingSince, disabledAt, disabledBecause } = await readWebhookStatus(redis, webhook.id);
  const ofFailing = disabledAt !== undefined ? 'disabled' : failingSince === undefined ? 'on' : 'failing';
  return viewOf(webhookSchema, {
    ...webhook,
    state: webhook.enabled ? ofFailing : 'off',
    failingSince: failingSince && new Date(failingSince).toISOString(),
    disabledBecause,
  });
}

/** Changes one webhook, audited without what is secret, also the path of its address. */
async function write(
  session: Session,
  id: string,
  action: string,
  decide: (before: Webhook | undefined, all: readonly Webhook[]) => Webhook | undefined,
): Promise<Webhook | undefined> {
  const { after } = await changeHash(session, redisKeys.webhooks, (fields) => {
    const all = parseWebhooks(fields);
    const before = all.find((webhook) => webhook.id === id);
    const decided = decide(before, all);
    return {
      after: decided,
      fields: { [id]: decided === undefined ? '' : JSON.stringify(decided) },
      entry: { action, target: id, before: audited(before), after: audited(decided) },
    };
  });
  return after;
}

/** The fingerprint shows that an address was changed, also if only its path was. */
function audited(webhook: Webhook | undefined): object | null {
  if (webhook === undefined) return null;
  const { secret: _secret, ...shown } = webhook;
  const { origin } = new URL(webhook.url);
  return { ...shown, url: `${origin}/… (SHA-256 ${hash('sha256', webhook.url, 'hex').slice(0, 8)}…)` };
}
