import type { Request } from 'express';
import { z } from 'zod';
import { countInput, nextInput } from '../admin/api/query-input.ts';
import { changed } from '../admin/api/results.ts';
import { createRoutes, type Route } from '../admin/api/route.ts';
import { webhookOperations } from '../admin/api/webhook-operations.ts';
import type { WebhookRules } from '../events/webhook-address.ts';
import { graceInput, portalKeyInput, thresholdsInput } from '../operations/key-input.ts';
import {
  newPortalKeySchema,
  portalCustomerSchema,
  portalFailuresSchema,
  portalKeyPageSchema,
  portalKeySchema,
  portalOperations,
  portalUsageSchema,
  type PortalChange,
  type PortalRead,
} from '../operations/portal-operations.ts';

/** What routes of the portal work with: nothing but the operations of the session's customer. */
export interface PortalApi {
  /** Runs an operation for the customer of the request's session. */
  run<Input, Result>(req: Request, operation: PortalRead<Input, Result>, input: Input): Promise<Result>;
  /** The same for a change, with doubts whether it survives a failure of Redis. */
  change<Input, Result>(
    req: Request,
    operation: PortalChange<Input, Result>,
    input: Input,
  ): Promise<Result & { warnings: string[] }>;
  webhookRules: WebhookRules;
}

const route = createRoutes<PortalApi>();

const issued = {
  responds: 'The key, which is in this response only',
  result: changed(newPortalKeySchema),
  status: 201,
};

/** All that a customer can see and do, below `/portal/api`. */
export const portalRoutes: readonly Route<PortalApi>[] = [
  route.get('/customer', {
    operationId: 'getCustomer',
    summary: 'Plan, and what is used of its limits now',
    responds: 'The customer',
    result: portalCustomerSchema,
    handle: ({ req }, { run }) => run(req, portalOperations.showCustomer, {}),
  }),
  route.get('/usage', {
    operationId: 'getUsage',
    summary: 'Use on each of the last UTC days, and by service in this month',
    input: z.strictObject({ days: countInput(400, 30) }),
    responds: 'The use',
    result: portalUsageSchema,
    handle: ({ req, input }, { run }) => run(req, portalOperations.showUsage, input),
  }),
  route.get('/failures', {
    operationId: 'listFailures',
    summary: 'Last failed requests of the last seven days, newest first',
    description: 'At most five of each code, so that many of one kind hide no other. Some seconds old.',
    responds: 'Failed requests',
    result: portalFailuresSchema,
    handle: ({ req }, { run }) => run(req, portalOperations.listFailures, {}),
  }),
  route.get('/keys', {
    operationId: 'listKeys',
    summary: 'API keys, also those that have ended in the last 90 days',
    input: z.strictObject({ after: nextInput.max(100).optional() }),
    responds: 'A page of keys',
    result: portalKeyPageSchema,
    handle: ({ req, input }, { run }) => run(req, portalOperations.listKeys, input),
  }),
  route.get('/keys/:id', {
    operationId: 'getKey',
    summary: 'One API key, with its last use',
    responds: 'The key',
    result: portalKeySchema,
    handle: ({ req, target: id }, { run }) => run(req, portalOperations.showKey, { id }),
  }),
  route.post('/keys', {
    operationId: 'createKey',
    summary: 'Create a key, which shares the limits of the others',
    input: portalKeyInput,
    ...issued,
    handle: ({ req, input }, { change }) => change(req, portalOperations.createKey, input),
  }),
  route.post('/keys/:id/rotate', {
    operationId: 'rotateKey',
    summary: 'Create a key that replaces another one, which works until the grace period ends',
    input: graceInput,
    ...issued,
    handle: ({ req, target: id, input: { graceSeconds } }, { change }) =>
      change(req, portalOperations.rotateKey, { id, graceSeconds }),
  }),
  route.post('/keys/:id/revoke', {
    operationId: 'revokeKey',
    summary: 'Refuse a key for good, from its next request on',
    responds: 'The key after the change',
    result: changed(portalKeySchema),
    handle: ({ req, target: id }, { change }) => change(req, portalOperations.revokeKey, { id }),
  }),
  route.put('/thresholds', {
    operationId: 'setThresholds',
    summary: 'Set at which shares of the day and month limits there is an event',
    input: z.strictObject({ thresholds: thresholdsInput.nullable().describe('Null for those of the plan') }),
    responds: 'The customer after the change',
    result: changed(portalCustomerSchema),
    handle: ({ req, input }, { change }) => change(req, portalOperations.setThresholds, input),
  }),
  route.get('/event-types', {
    ...webhookOperations.types,
    handle: ({ req }, { run }) => run(req, portalOperations.listEventTypes, {}),
  }),
  route.get('/webhooks', {
    ...webhookOperations.list,
    summary: 'Webhooks, oldest first',
    handle: ({ req }, { run }) => run(req, portalOperations.listWebhooks, {}),
  }),
  route.post('/webhooks', {
    ...webhookOperations.add,
    handle: ({ req, input }, { change, webhookRules: rules }) =>
      change(req, portalOperations.addWebhook, { ...input, rules }),
  }),
  route.patch('/webhooks/:webhook', {
    ...webhookOperations.change,
    handle: ({ req, target: id, input }, { change, webhookRules: rules }) =>
      change(req, portalOperations.changeWebhook, { ...input, id, rules }),
  }),
  route.delete('/webhooks/:webhook', {
    ...webhookOperations.remove,
    handle: ({ req, target: id }, { change }) => change(req, portalOperations.removeWebhook, { id }),
  }),
  route.post('/webhooks/:webhook/test', {
    ...webhookOperations.test,
    handle: ({ req, target: id }, { change }) => change(req, portalOperations.testWebhook, { id }),
  }),
  route.post('/webhooks/:webhook/rotate-secret', {
    ...webhookOperations.rotateSecret,
    handle: ({ req, target: id, input }, { change }) =>
      change(req, portalOperations.rotateWebhookSecret, { ...input, id }),
  }),
  route.get('/webhooks/:webhook/deliveries', {
    ...webhookOperations.deliveries,
    handle: ({ req, target: id }, { run }) => run(req, portalOperations.listDeliveries, { id }),
  }),
  route.post('/webhooks/:webhook/replay', {
    ...webhookOperations.replay,
    summary: 'Send a webhook again what was given up',
    handle: ({ req, target: id }, { change }) => change(req, portalOperations.replayEvents, { id }),
  }),
];
