import { z } from 'zod';
import { parseJson } from '../redis/parse-json.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys, type WebhookOwner } from '../redis/redis-keys.ts';
import { eventTypes, isEventType, type GatewayEvent } from './event-types.ts';

export const webhookIdPattern = /^wh_[\da-f]{16}$/;

const record = z.object({
  id: z.string().regex(webhookIdPattern),
  url: z.string(),
  /** Null for all types that its owner may get. */
  types: z.array(z.string()).nullable(),
  enabled: z.boolean(),
  description: z.string().nullable(),
  createdAt: z.iso.datetime(),
});

const secrets = z.object({
  secret: z.string().startsWith('whsec_'),
  /** Signs as well until a time, after a rotation. */
  previous: z.object({ secret: z.string().startsWith('whsec_'), until: z.iso.datetime() }).optional(),
});

/** An address that events are sent to, as the hash gw:webhooks:{<owner>} has it in JSON, by its id. */
export interface Webhook extends z.infer<typeof record> {
  owner: WebhookOwner;
}

/** In the hash gw:webhook-secrets:{<owner>}: they have to be readable, since they sign. */
export type WebhookSecrets = z.infer<typeof secrets>;

export const formatWebhook = ({ owner: _owner, ...stored }: Webhook) => JSON.stringify(stored);

/** Webhooks of an owner, oldest first. One that was edited by hand into something else is left out. */
export async function readWebhooks(redis: RedisClient, owner: WebhookOwner): Promise<Webhook[]> {
  return parseWebhooks(owner, await redis.hgetall(redisKeys.webhooks(owner)));
}

export function parseWebhooks(owner: WebhookOwner, fields: Readonly<Record<string, string>>): Webhook[] {
  const webhooks = Object.entries(fields).flatMap(([id, text]) => {
    const { data } = record.safeParse(parseJson(text));
    return data?.id === id ? [{ ...data, owner }] : [];
  });
  return webhooks.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
}

/** @returns undefined if they were lost or edited into something else */
export async function readSecrets(
  redis: RedisClient,
  { owner, id }: Pick<Webhook, 'owner' | 'id'>,
): Promise<WebhookSecrets | undefined> {
  return parseSecrets((await redis.hget(redisKeys.webhookSecrets(owner), id)) ?? undefined);
}

/** @returns undefined if they were lost or edited into something else */
export function parseSecrets(text = ''): WebhookSecrets | undefined {
  return secrets.safeParse(parseJson(text)).data;
}

/** Whether the webhook is to get the events of a type. The use by day is sent to those only that ask for it. */
export function wantsType({ owner, types }: Webhook, type: string): boolean {
  if (!isEventType(type)) return false;
  const definition = eventTypes[type];
  if ('forOperators' in definition && owner !== 'operators') return false;
  return types === null ? !('forOperators' in definition) : types.includes(type);
}

/** Whether the webhook is to get an event: one of its owner and its types, since it was made, or its own test. */
export function isFor(webhook: Webhook, event: GatewayEvent): boolean {
  const { owner, id, createdAt } = webhook;
  if (event.webhook !== undefined) return event.webhook === id;
  const isOfOwner = owner === 'operators' || (owner === event.customerId && event.forOperators !== true);
  return isOfOwner && event.at >= createdAt && wantsType(webhook, event.type);
}
