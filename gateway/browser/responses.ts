/** Responses of the operators' API and of the portal's, as their schemas declare them. Only types: a browser loads none of that code. */
import type { z } from 'zod';
import type { eventTypeSchema } from '../operations/webhook-view.ts';
import type { WebhookWithSecret as SecretWebhook } from '../operations/webhooks.ts';

export type { DeliveryEntry as Delivery } from '../events/delivery-store.ts';
export type { WebhookView as WebhookRow } from '../operations/webhook-view.ts';
export type { WindowView } from '../operations/key-windows.ts';

/** Of a list, one page. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** Of a change, with doubts whether it survives a failure of Redis. */
export type Changed<T = object> = T & { warnings: string[] };

export type WebhookWithSecret = Changed<SecretWebhook>;
export type EventTypeRow = z.infer<typeof eventTypeSchema>;
