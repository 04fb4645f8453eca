import { hash } from 'node:crypto';
import { z } from 'zod';
import type { CustomerId } from '../../platform/redis/redis-keys.ts';
import type { ApiScope } from '../access/api-scopes.ts';

const time = z.iso.datetime();
const customerId = z.string().describe('Id of the customer');
const key = {
  customerId,
  keyId: z.string(),
  keyName: z.string(),
};

/**
 * All types of events, each with the scope with which a program could read the same, and the content of `data`. Documents, the
 * description of the operators' API and the choice of types in the console follow from this list, and a test goes through it.
 */
export const eventTypes = {
  'quota.threshold': {
    summary: 'A customer has used 80 % or 100 % of its day or month limit',
    scope: 'usage:read',
    data: z.object({
      customerId,
      plan: z.string(),
      window: z.string().describe('`day` or `month`'),
      windowStart: time,
      windowEnd: time,
      threshold: z.int().describe('Share of the limit in percent'),
      limit: z.int(),
      used: z.int().describe('Units used when it was crossed'),
    }),
  },
  'ban.began': {
    summary: 'A key is banned, by a gateway or by an operator',
    scope: 'bans:read',
    data: z.object({
      ...key,
      endsAt: time,
      reason: z.string().nullable().describe('In the words of an operator; null for a ban by a gateway'),
    }),
  },
  'key.created': {
    summary: 'A key was issued, also in place of another one',
    scope: 'keys:read',
    data: z.object({
      ...key,
      expiresAt: time.nullable(),
      replaces: z.string().nullable().describe('Id of the key that it replaces'),
    }),
  },
  'key.rotated': {
    summary: 'A key was replaced by another one, and works for a while',
    scope: 'keys:read',
    data: z.object({ ...key, expiresAt: time.nullable(), replacedBy: z.string() }),
  },
  'key.revoked': {
    summary: 'A key was revoked',
    scope: 'keys:read',
    data: z.object({ ...key, revokedAt: time }),
  },
  'key.expiring': {
    summary: 'A key expires within 7 days, and was not replaced',
    scope: 'keys:read',
    data: z.object({ ...key, expiresAt: time }),
  },
  'customer.suspended': {
    summary: 'All keys of a customer are refused',
    scope: 'customers:read',
    data: z.object({ customerId, suspendedAt: time }),
  },
  'plan.changed': {
    summary: 'A customer is on another plan',
    scope: 'customers:read',
    data: z.object({ customerId, from: z.string(), to: z.string() }),
  },
} as const satisfies Record<string, { summary: string; scope: ApiScope; data: z.ZodObject }>;

export type EventType = keyof typeof eventTypes;

export const eventTypeNames = Object.keys(eventTypes).filter(isEventType);

export function isEventType(text: string): text is EventType {
  return Object.hasOwn(eventTypes, text);
}

/** Scopes with which a program could read what a webhook is sent. @param types null for all */
export function scopesOfEvents(types: readonly string[] | null): ApiScope[] {
  const sent = eventTypeNames.filter((type) => types?.includes(type) ?? true);
  return [...new Set(sent.map((type) => eventTypes[type].scope))];
}

/** What an event says of its type. */
export type EventData<Type extends EventType> = z.infer<(typeof eventTypes)[Type]['data']>;

/** Sent to one webhook alone, when somebody asks for a test. */
export const testType = 'webhook.test';

/** An event as receivers get it. */
export interface GatewayEvent {
  /** The same whenever the event is published again. */
  id: string;
  type: EventType | typeof testType;
  /** Undefined for a test. */
  customerId: CustomerId | undefined;
  /** ISO 8601 in UTC. */
  at: string;
  data: object;
}

/** @param occurrence identity: what tells the event from all others of its type and customer */
export function gatewayEvent<Type extends EventType>(occurrence: {
  type: Type;
  customerId: CustomerId;
  atMs: number;
  data: EventData<Type>;
  identity: readonly (string | number)[];
}): GatewayEvent {
  const { type, customerId, atMs, data, identity } = occurrence;
  const id = eventId(type, customerId, ...identity);
  return { id, type, customerId, at: new Date(atMs).toISOString(), data };
}

export function eventId(...identity: readonly (string | number)[]): string {
  return `evt_${hash('sha256', identity.join('|'), 'hex').slice(0, 32)}`;
}
