import { z } from 'zod';
import { listOf } from '../list-schemas.ts';
import { change, list, type OptionForm } from '../operation.ts';
import type { FormField } from '../question.ts';
import { csvOf } from '../records.ts';
import { eventTypeNames, eventTypes, scopesOfEvents } from './event-types.ts';
import { deliverySchema } from './stored-webhooks.ts';
import {
  addWebhook,
  changeWebhook,
  findWebhook,
  listWebhooks,
  newWebhookInput,
  readWebhookDeliveries,
  removeWebhook,
  testWebhook,
  webhookChangeInput,
  webhookSchema,
  type WebhookView,
} from './webhooks.ts';

const options = {
  types: { nothing: 'all', says: 'types of events, with commas between them, or "all"' },
  description: { says: 'what it is for' },
} satisfies Record<string, OptionForm>;

const forms = {
  url: { label: 'Address', kind: 'url', placeholder: 'https://example.com/hook' },
  description: { label: 'Description' },
  types: {
    label: 'Types of events; none chosen is all of them',
    choices: eventTypeNames.map((type) => [type, `${type} (${eventTypes[type].summary})`] as const),
  },
} satisfies Record<string, FormField>;

const needsReading = 'A token needs the scopes to read what the webhook is sent, too.';
const changed = { result: webhookSchema, resultId: 'ChangedWebhook' };
const id = 'wh_282dd48c706990d4';
const typesOf = ({ types }: WebhookView) => types?.join(',') ?? 'all';

/** Addresses that events are sent to. */
export const webhookOperations = [
  list({
    operationId: 'listWebhooks',
    http: 'GET /webhooks',
    command: {
      usage: 'webhooks list',
      columns: {
        ID: 'id',
        STATE: 'state',
        CUSTOMER: ({ customerId }) => customerId ?? 'all',
        TYPES: typesOf,
        URL: 'url',
      },
      csv: csvOf(
        webhookSchema.keyof().options,
        'id customerId url description state failingSince disabledBecause createdAt types',
      ),
    },
    summary: 'Webhooks, oldest first',
    responds: 'All of them',
    result: listOf(webhookSchema),
    run: (session) => listWebhooks(session),
  }),
  change({
    operationId: 'addWebhook',
    http: 'POST /webhooks',
    audits: 'added the webhook',
    asks: {
      offer: 'New webhook…',
      tone: 'primary',
      heading: 'New webhook',
      action: 'Add',
      fields: {
        url: forms.url,
        customerId: { label: 'Customer (empty for all customers)', placeholder: 'cus_…' },
        description: forms.description,
        types: forms.types,
      },
      secret: {
        field: 'secret',
        label: 'Secret',
        about: 'It signs the events for {url}. The receiver needs it to check them.',
      },
    },
    command: {
      usage: 'webhooks add <url>',
      says: 'send events to an address; prints the secret that signs them, which is shown this once',
      examples: [
        'webhooks add https://example.com/hook --customer cus_282dd48c706990d481',
        'webhooks add https://billing.example.com/usage --types ban.began,plan.changed',
      ],
      options: {
        ...options,
        customerId: { flags: '--customer <customer>', says: 'events of this customer only' },
      },
    },
    summary: 'Send events to an address',
    description: needsReading,
    input: newWebhookInput,
    responds: 'The webhook with its secret',
    result: webhookSchema.extend({ secret: z.string().describe('Signs its events; shown this once') }),
    resultId: 'WebhookWithSecret',
    status: 201,
    run(session, { input, context }) {
      context.assertScopes(scopesOfEvents(input.types ?? null));
      return addWebhook(session, input, context.webhookAllowedNetworks);
    },
  }),
  change({
    operationId: 'changeWebhook',
    http: 'PATCH /webhooks/:webhook',
    audits: 'changed the webhook',
    asks: [
      {
        offer: 'Switch off',
        states: ['on', 'failing'],
        gives: { enabled: false },
        done: 'It gets nothing now.',
      },
      {
        offer: 'Switch on',
        states: ['off', 'disabled'],
        gives: { enabled: true },
        done: 'It gets events again.',
      },
      {
        offer: 'Change…',
        heading: 'Change the webhook',
        action: 'Save',
        fields: forms,
        done: 'The webhook is changed.',
      },
    ],
    command: {
      usage: 'webhooks set <webhook>',
      says: 'change a webhook, or switch it on or off; --on also ends that it is disabled',
      examples: [`webhooks set ${id} --off`, `webhooks set ${id} --on`],
      options: {
        ...options,
        url: { flags: '--url <url>', says: 'another address' },
        enabled: {
          flags: '--on --off',
          says: 'send events to it | send nothing to it; it does not get what happens in between',
        },
      },
    },
    summary: 'Change a webhook, or switch it on or off',
    description:
      'Fields that are absent stay as they are. Switching on also ends that it is disabled. ' + needsReading,
    input: webhookChangeInput,
    responds: 'The webhook after the change',
    ...changed,
    async run(session, { target, input, context }) {
      const before = await findWebhook(session, target);
      context.assertScopes(scopesOfEvents(input.types === undefined ? before.types : input.types));
      return changeWebhook(session, target, input, context.webhookAllowedNetworks);
    },
  }),
  change({
    operationId: 'removeWebhook',
    http: 'DELETE /webhooks/:webhook',
    audits: 'removed the webhook',
    asks: {
      offer: 'Remove…',
      tone: 'danger',
      heading: 'Remove the webhook?',
      text: '{name} gets nothing any more. What it has yet to get is dropped.',
      done: 'The webhook is removed.',
    },
    command: {
      usage: 'webhooks remove <webhook>',
      asks: (_session, id) => `Remove the webhook ${id} with its deliveries?`,
      prints: ({ id }) => `removed ${id}`,
    },
    summary: 'Delete a webhook with its deliveries',
    responds: 'The webhook as it was',
    ...changed,
    run: (session, { target }) => removeWebhook(session, target),
  }),
  change({
    operationId: 'testWebhook',
    http: 'POST /webhooks/:webhook/test',
    asks: { offer: 'Send a test', done: 'A test is on its way: see its deliveries.' },
    summary: 'Send a webhook an event of the type webhook.test, once',
    responds: 'Id of the event, which is in its deliveries within some seconds',
    result: z.object({ eventId: z.string() }),
    run: async (session, { target }) => ({ eventId: await testWebhook(session, target) }),
  }),
  list({
    operationId: 'listDeliveries',
    http: 'GET /webhooks/:webhook/deliveries',
    command: {
      usage: 'webhooks deliveries <webhook>',
      columns: {
        AT: 'at',
        TYPE: 'type',
        CUSTOMER: 'customerId',
        EVENT: 'eventId',
        ATTEMPT: 'attempt',
        OUTCOME: 'outcome',
        STATUS: 'status',
        ERROR: 'error',
        MS: 'ms',
      },
    },
    summary: 'The last 50 attempts of a webhook, newest first',
    responds: 'Attempts of the last 30 days',
    result: listOf(deliverySchema),
    run: (session, { target }) => readWebhookDeliveries(session, target),
  }),
];
