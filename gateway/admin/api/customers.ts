import { z } from 'zod';
import { portalLink } from '../../config/console-url.ts';
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
import {
  customerChangeInput,
  furtherKeyInput,
  newCustomerInput,
  withoutNulls,
} from '../../operations/key-input.ts';
import { issueFurtherKey } from '../../operations/keys.ts';
import { endPortalSessions, makePortalCode } from '../../operations/portal-sessions.ts';
import { showCustomer } from '../../operations/stored-customers.ts';
import { failureSchema, readFailures } from '../../quota/failures.ts';
import { apiTokenHashOf, callerOf } from '../access/caller.ts';
import { issued, respondIssued } from './key.ts';
import { changeAndShow, limitedRoutes } from './limited-routes.ts';
import { countInput, nextInput } from './query-input.ts';
import { changed, listOf, withWarnings } from './results.ts';
import { route } from './route.ts';

/** A page takes half a second at most, whatever the conditions. */
const maxRead = 20_000;

export const portalLinkSchema = changed(
  z.object({
    link: z.string().describe('Begins a session of an hour. What is behind # reaches no log'),
    customer: z.string(),
    expiresAt: z.iso.datetime(),
  }),
).meta({ id: 'PortalLink' });

const changedCustomer = {
  responds: 'The customer after the change',
  result: changed(customerDetailSchema).meta({ id: 'ChangedCustomer' }),
};

const change = changeAndShow(readCustomerDetail);

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
        .describe('Part of the name, contact, reference or id. An API key is refused.'),
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
    handle: async ({ req, input }, api) =>
      withWarnings(await api.change(req, (session) => createCustomer(session, withoutNulls(input)))),
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
    noun: 'keys',
    summary: 'Issue a further key of a customer, which shares its plan and limits',
    input: furtherKeyInput,
    ...issued,
    handle: ({ req, target, input }, api) =>
      respondIssued({ req }, api, async (session) => {
        const { id } = await showCustomer(session.redis, target);
        return issueFurtherKey(session, id, withoutNulls(input));
      }),
  }),
  route.post('/customers/:customer/link', {
    operationId: 'linkCustomer',
    noun: 'links',
    summary: 'Make a link to the portal of a customer, which works once within five minutes',
    responds: 'The link, which is in this response only',
    result: portalLinkSchema,
    status: 201,
    handle: async ({ req, target }, { change, publicOrigin }) => {
      const { result, warnings } = await change(req, (session) =>
        makePortalCode(session, target, apiTokenHashOf(callerOf(req))),
      );
      const { code, ...made } = result;
      return { link: portalLink(publicOrigin(), code), ...made, warnings };
    },
  }),
  route.post('/customers/:customer/sign-out', {
    operationId: 'signOutCustomer',
    noun: 'links',
    summary: 'End all sessions of a customer in the portal, and its links that were not used yet',
    ...changedCustomer,
    handle: (call, api) => change(call, api, (session) => endPortalSessions(session, call.target)),
  }),
  route.delete('/customers/:customer', {
    operationId: 'removeCustomer',
    summary: 'Delete a customer whose keys have all ended; its record of use stays',
    responds: 'The customer as it was',
    result: changed(customerViewSchema).meta({ id: 'RemovedCustomer' }),
    handle: async ({ req, target }, api) =>
      withWarnings(await api.change(req, (session) => removeCustomer(session, target))),
  }),
  route.get('/customers/:customer/failures', {
    operationId: 'listCustomerFailures',
    summary: 'Last failed requests of a customer in the last seven days, newest first',
    description: 'At most five of each code, so that many of one kind hide no other. Some seconds old.',
    responds: 'Failed requests',
    result: listOf(failureSchema),
    handle: async ({ target }, { read }) => {
      const items = await read(async (session) =>
        readFailures(session, (await showCustomer(session.redis, target)).id),
      );
      return { items, next: null };
    },
  }),
  ...limitedRoutes({
    path: '/customers/:customer',
    owner: 'a customer',
    operationIds: { resetDay: 'resetCustomerDay', usage: 'getCustomerUsage' },
    changed: changedCustomer,
    change,
  }),
];
