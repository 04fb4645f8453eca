import { z } from 'zod';
import { knownIn } from '../../limits/limits.ts';
import { createApiKeyStore } from '../../operations/api-key-store.ts';
import {
  changeCustomer,
  createCustomer,
  customerDetailSchema,
  customerPageSchema,
  customerViewSchema,
  readCustomerDetail,
  readCustomerPage,
  removeCustomer,
  resumeCustomer,
  suspendCustomer,
} from '../../operations/customers.ts';
import { keyEffectSchema, readKeyEffect } from '../../operations/key-effect.ts';
import {
  customerChangeInput,
  furtherKeyInput,
  limitsChangeInput,
  newCustomerInput,
  trialInput,
} from '../../operations/key-input.ts';
import { createKeyTrials } from '../../operations/key-trial.ts';
import { resetDay } from '../../operations/reset-day.ts';
import type { ChangingSession } from '../../operations/session.ts';
import { findCustomerId, showCustomer } from '../../operations/stored-customers.ts';
import { readLastDays } from '../../operations/usage-record.ts';
import { readRefusals, refusalsSchema } from '../../quota/refusals.ts';
import { dayUsageSchema } from '../../quota/usage-days.ts';
import { issued, issueKey } from './key.ts';
import { countInput, nextInput } from './query-input.ts';
import { changed, listOf } from './results.ts';
import { route, type Api, type Call } from './route.ts';

/** A page takes half a second at most, whatever the conditions. */
const maxRead = 20_000;

const changedCustomer = {
  responds: 'The customer after the change',
  result: changed(customerDetailSchema).meta({ id: 'ChangedCustomer' }),
};

async function change(
  { req, target }: Call<unknown>,
  api: Api,
  operate: (session: ChangingSession) => Promise<unknown>,
) {
  const { result, warnings } = await api.change(req, async (session) => {
    await operate(session);
    return readCustomerDetail(session, target);
  });
  return { ...result, warnings };
}

/** Customers, whose keys share a plan, limits and what is used of them. */
export const customersRoutes = [
  route.get('/customers', {
    operationId: 'listCustomers',
    summary: 'Customers, newest first',
    description: `Reads some ${maxRead.toLocaleString('en')} customers at most: go on with \`next\` until it is null.`,
    input: z.strictObject({
      search: z
        .string()
        .max(200, 'is longer than 200 characters')
        .optional()
        .describe('Part of the name, contact, reference or id'),
      plan: z.string().optional(),
      after: nextInput.optional(),
      limit: countInput(100, 50),
    }),
    responds: 'A page of customers',
    result: customerPageSchema,
    handle: ({ req, input: { limit, ...conditions } }, { search }) =>
      search(req, (session) => readCustomerPage(session, { ...conditions, size: limit, maxRead })),
  }),
  route.post('/customers', {
    operationId: 'createCustomer',
    summary: 'Make a customer without a key',
    input: newCustomerInput,
    responds: 'The customer',
    result: changed(customerViewSchema).meta({ id: 'NewCustomer' }),
    status: 201,
    handle: async ({ req, input: { name, plan, contact, notes, reference, ...limits } }, api) => {
      const wanted = { name, plan, contact, notes, reference, ...knownIn(limits) };
      const { result, warnings } = await api.change(req, (session) => createCustomer(session, wanted));
      return { ...result, warnings };
    },
  }),
  route.get('/customers/:customer', {
    operationId: 'getCustomer',
    summary: 'One customer, with its keys and their use now',
    responds: 'The customer',
    result: customerDetailSchema,
    handle: ({ target }, { read }) => read((session) => readCustomerDetail(session, target)),
  }),
  route.patch('/customers/:customer', {
    operationId: 'changeCustomer',
    summary: 'Change a customer, from the next request of any of its keys on',
    description:
      'Fields that are absent stay as they are. 409 if somebody else has changed the customer or one of its keys since `rev`.',
    input: customerChangeInput,
    ...changedCustomer,
    handle: (call, api) => change(call, api, (session) => changeCustomer(session, call.target, call.input)),
  }),
  route.post('/customers/:customer/effect', {
    operationId: 'previewCustomerChange',
    summary: 'What another plan or other limits would do to the next request of a customer',
    description: 'Changes nothing, so a viewer may ask, too. Refused as the change itself would be.',
    input: limitsChangeInput,
    responds: 'Before and after the change',
    result: keyEffectSchema,
    handle: ({ target, input }, { read }) => read((session) => readKeyEffect(session, target, input)),
  }),
  route.put('/customers/:customer/trial', {
    operationId: 'startCustomerTrial',
    summary: 'Put limits of a customer on trial, counted and not enforced, in place of any other trial of it',
    input: trialInput,
    ...changedCustomer,
    handle: (call, api) =>
      change(call, api, (session) => createKeyTrials(session).start(call.target, call.input)),
  }),
  route.delete('/customers/:customer/trial', {
    operationId: 'endCustomerTrial',
    summary: 'End the trial of a customer',
    ...changedCustomer,
    handle: (call, api) => change(call, api, (session) => createKeyTrials(session).stop(call.target)),
  }),
  route.post('/customers/:customer/trial/apply', {
    operationId: 'applyCustomerTrial',
    summary: 'Make the limits on trial own limits of the customer, and end the trial',
    ...changedCustomer,
    handle: (call, api) => change(call, api, (session) => createKeyTrials(session).apply(call.target)),
  }),
  route.delete('/customers/:customer/day', {
    operationId: 'resetCustomerDay',
    summary: 'Set the UTC day of a customer back: its day limit counts from 0 again',
    description: 'The record of use keeps what was served, and a month limit counts it.',
    ...changedCustomer,
    handle: (call, api) => change(call, api, (session) => resetDay(session, call.target)),
  }),
  route.get('/customers/:customer/refusals', {
    operationId: 'listCustomerRefusals',
    summary: 'Last refusals of a customer in the last seven days, newest first',
    responds: 'Refused requests in a row, some seconds old',
    result: listOf(refusalsSchema),
    handle: async ({ target }, { read }) => {
      const items = await read(async (session) =>
        readRefusals(session, await findCustomerId(session.redis, target)),
      );
      return { items, next: null };
    },
  }),
  route.post('/customers/:customer/suspend', {
    operationId: 'suspendCustomer',
    summary: 'Refuse all keys of a customer from their next request on',
    ...changedCustomer,
    handle: (call, api) => change(call, api, (session) => suspendCustomer(session, call.target)),
  }),
  route.post('/customers/:customer/resume', {
    operationId: 'resumeCustomer',
    summary: 'End the suspension of a customer',
    ...changedCustomer,
    handle: (call, api) => change(call, api, (session) => resumeCustomer(session, call.target)),
  }),
  route.post('/customers/:customer/keys', {
    operationId: 'issueFurtherKey',
    summary: 'Issue a further key of a customer, which shares its plan and limits',
    input: furtherKeyInput,
    ...issued,
    handle: ({ req, target, input: { name, expiresAt, scopes } }, api) => {
      const wanted = { name, expiresAt: expiresAt ?? undefined, scopes: scopes ?? undefined };
      return issueKey({ req }, api, async (session) => {
        const { id } = await showCustomer(session.redis, target);
        return createApiKeyStore(session).issueFor(id, wanted);
      });
    },
  }),
  route.get('/customers/:customer/usage', {
    operationId: 'getCustomerUsage',
    summary: 'Use of a customer on each of the last UTC days, oldest first, today included',
    input: z.strictObject({ days: countInput(400, 30) }),
    responds: 'Each day, also those without use',
    result: listOf(dayUsageSchema),
    handle: async ({ target, input }, { read }) => {
      const items = await read(async (session) =>
        readLastDays(session, await findCustomerId(session.redis, target), input.days),
      );
      return { items, next: null };
    },
  }),
  route.delete('/customers/:customer', {
    operationId: 'removeCustomer',
    summary: 'Delete a customer whose keys have all ended; its record of use stays',
    responds: 'The customer as it was',
    result: changed(customerViewSchema).meta({ id: 'RemovedCustomer' }),
    handle: async ({ req, target }, api) => {
      const { result, warnings } = await api.change(req, (session) => removeCustomer(session, target));
      return { ...result, warnings };
    },
  }),
];
