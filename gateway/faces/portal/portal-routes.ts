import type { Request } from 'express';
import { z } from 'zod';
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
} from '../../control/access/portal-operations.ts';
import { graceInput, portalKeyInput } from '../../control/keys/key-input.ts';
import { countInput, nextInput } from '../../control/list-schemas.ts';
import { changed } from '../api/results.ts';
import { createRoutes, type Route } from '../api/route.ts';

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
    summary: 'Use on each of the last UTC days',
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
];
