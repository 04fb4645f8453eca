import { z } from 'zod';
import { customerFields, searchedWords } from '../../limits/record-fields.ts';
import { byWindow, eachExactly } from '../../limits/windows.ts';
import { portalLink } from '../../platform/config/endpoints.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { failureSchema, readFailures } from '../../quota/failures.ts';
import { dayUsageSchema } from '../../quota/usage.ts';
import { makePortalCode } from '../access/portal-sessions.ts';
import { customerChangeInput, newCustomerInput, seenRev, withoutNulls } from '../keys/key-input.ts';
import { countInput, flagInput, listOf, nextInput } from '../list-schemas.ts';
import { change, changeAndShow, list, read } from '../operation.ts';
import { assertPlanName } from '../plans/plan-names.ts';
import { formFields } from '../question.ts';
import { csvOf, fieldOptions } from '../records.ts';
import { allFound, readFoundPage } from '../scored-pages.ts';
import { unitsOf } from '../usage/usage-months.ts';
import { readLastDays } from '../usage/usage-record.ts';
import { windowTexts } from './customer-limits.ts';
import {
  changeCustomer,
  createCustomer,
  previewCustomer,
  removeCustomer,
  resetDay,
  resumeCustomer,
  suspendCustomer,
} from './customers.ts';
import {
  customerConditions,
  customerDetailSchema,
  customerPageSchema,
  customerViewSchema,
  readCustomerDetail,
  searchCustomers,
  type CustomerDetail,
} from './find-customers.ts';
import { asCustomerId, showCustomer } from './stored-customers.ts';

/** A page takes half a second at most, whatever the conditions. */
const maxRead = 20_000;
const id = 'cus_282dd48c706990d481';

export const portalLinkSchema = z.object({
  link: z.string().describe('Begins a session of an hour. What is behind # reaches no log'),
  customer: z.string(),
  expiresAt: z.iso.datetime(),
});

/** Options of a command that makes a customer. */
export const newLimitOptions = {
  plan: { says: 'free, pro, business, enterprise or a plan of your own' },
  ...byWindow((name) => ({ says: `own limit ${eachExactly(name)}, instead of the plan’s` })),
};

const shown = {
  responds: 'The customer after the change',
  result: customerDetailSchema,
  resultId: 'ChangedCustomer',
  shows: readCustomerDetail,
};

const csvOrder =
  'id name plan minute hour day month state suspendedAt createdAt keys rev contact notes reference';

/** Customers, whose keys share a plan, limits and what is used of them. */
export const customerOperations = [
  list({
    operationId: 'listCustomers',
    http: 'GET /customers',
    command: {
      usage: 'customers list',
      says: 'customers, oldest first',
      examples: ['customers list --plan pro', 'customers list --output csv > customers.csv'],
      options: {
        search: {
          flags: '--name <text>',
          says: `customers with the text in their ${searchedWords(customerFields)} or id`,
        },
        use: false,
      },
      columns: {
        ID: 'id',
        NAME: 'name',
        PLAN: 'plan',
        MINUTE: 'minute',
        DAY: 'day',
        STATE: 'state',
        KEYS: 'keys',
        CREATED: 'createdAt',
      },
      csv: csvOf(customerViewSchema.keyof().options, csvOrder),
    },
    summary: 'Customers, newest first',
    description: `Reads some ${maxRead.toLocaleString('en')} customers at most: go on with \`next\` until it is null.`,
    input: customerConditions.extend({
      after: nextInput.optional(),
      limit: countInput(100, 50),
      use: flagInput.default(false).describe('Whether to say what they use'),
    }),
    responds: 'A page of customers',
    result: customerPageSchema,
    async run(session, { input }) {
      await assertPlanName(session.redis, input.plan);
      return allFound(session.redis, searchCustomers(session, input));
    },
    async page(session, { input: { after, limit: size, ...conditions } }) {
      const total = await session.redis.zcard(redisKeys.customers);
      const search = searchCustomers(session, conditions);
      const { items, next } = await readFoundPage(session.redis, search, { after, size, maxRead });
      return { items, next, total };
    },
  }),
  change({
    operationId: 'createCustomer',
    http: 'POST /customers',
    audits: 'created the customer',
    command: {
      usage: 'customers create',
      says: 'make a customer without a key; ops keys issue makes one with a key',
      examples: ['customers create --plan pro --name Acme --reference C-4711'],
      options: { name: { says: 'name of the customer' }, ...newLimitOptions },
    },
    summary: 'Make a customer without a key',
    input: newCustomerInput,
    responds: 'The customer',
    result: customerViewSchema,
    resultId: 'NewCustomer',
    status: 201,
    run: (session, { input }) => createCustomer(session, withoutNulls(input)),
  }),
  read({
    operationId: 'getCustomer',
    http: 'GET /customers/:customer',
    command: {
      usage: 'customers show <customer>',
      says: 'one customer, with what it uses of its limits now, and its keys',
      prints: ({ items, limits: _limits, windows, now: _now, ...view }: CustomerDetail) => ({
        ...view,
        // In place of its own limits, which the windows show.
        ...windowTexts(windows),
        ...Object.fromEntries(
          items.map((key) => [key.id, `${key.hint} ${JSON.stringify(key.name)}, ${key.state}`]),
        ),
      }),
    },
    summary: 'One customer, with its keys and their use now',
    responds: 'The customer',
    result: customerDetailSchema,
    run: (session, { target }) => readCustomerDetail(session, target),
  }),
  changeAndShow({
    operationId: 'changeCustomer',
    http: 'PATCH /customers/:customer',
    audits: 'changed the customer',
    asks: {
      offer: 'Change details…',
      heading: 'About {name}',
      action: 'Save the customer',
      fields: { name: { label: 'Name' }, ...formFields(customerFields) },
      done: 'The customer is changed',
    },
    command: {
      usage: 'customers set <customer>',
      says: 'change a customer, from the next request of any of its keys on; the text "none" removes one',
      examples: [
        `customers set ${id} --plan business`,
        `customers set ${id} --day 5000 --reason "import of their stock"`,
      ],
      options: {
        name: { says: 'name of the customer' },
        plan: { says: 'another plan' },
        ...fieldOptions(customerFields),
        ...byWindow((name) => ({
          says: `own limit ${eachExactly(name)}, or "plan" for that of the plan`,
          nothing: 'plan',
        })),
      },
    },
    summary: 'Change a customer, from the next request of any of its keys on',
    description:
      'Fields that are absent stay as they are. 409 if somebody else has changed the customer or one of its keys since `rev`.',
    input: customerChangeInput,
    seen: seenRev,
    ...shown,
    preview: (session, { target, input }) => previewCustomer(session, target, input),
    run: (session, { target, input, seen }) => changeCustomer(session, target, { ...input, ...seen }),
  }),
  changeAndShow({
    operationId: 'suspendCustomer',
    http: 'POST /customers/:customer/suspend',
    audits: 'suspended',
    asks: {
      offer: 'Suspend…',
      tone: 'danger',
      states: ['active'],
      heading: 'Suspend {name}?',
      text: 'Requests with its keys ({keys}) get 401 from the next one on, until you resume it.',
      done: 'The customer is suspended: requests of all its keys are refused from now on',
    },
    command: {
      usage: 'customers suspend <customer>',
      examples: [`customers suspend ${id} --reason "unpaid since May"`],
    },
    summary: 'Refuse all keys of a customer from their next request on',
    ...shown,
    run: (session, { target }) => suspendCustomer(session, target),
  }),
  changeAndShow({
    operationId: 'resumeCustomer',
    http: 'POST /customers/:customer/resume',
    audits: 'resumed',
    asks: { offer: 'Resume', states: ['suspended'], done: 'The customer is active again' },
    command: { usage: 'customers resume <customer>' },
    summary: 'End the suspension of a customer',
    ...shown,
    run: (session, { target }) => resumeCustomer(session, target),
  }),
  change({
    operationId: 'linkCustomer',
    http: 'POST /customers/:customer/link',
    audits: { 'portal.link': 'made a link to the portal for' },
    asks: {
      offer: 'Make a link to the portal…',
      secret: {
        field: 'link',
        label: 'Link to the portal',
        about: 'For the customer. It works once, until {expiresAt}, and begins a session of an hour.',
      },
    },
    noun: 'links',
    command: {
      usage: 'customers link <customer>',
      says: 'print a link to the portal of a customer; it works once, within five minutes',
    },
    summary: 'Make a link to the portal of a customer, which works once within five minutes',
    responds: 'The link, which is in this response only',
    result: portalLinkSchema,
    resultId: 'PortalLink',
    status: 201,
    async run(session, { target, context }) {
      const { code, ...made } = await makePortalCode(session, target, context.apiTokenHash);
      return { link: portalLink(context.publicOrigin(), code), ...made };
    },
  }),
  change({
    operationId: 'removeCustomer',
    http: 'DELETE /customers/:customer',
    audits: 'removed the customer',
    asks: {
      offer: 'Remove…',
      tone: 'danger',
      heading: 'Remove {name}?',
      text: 'Its record and those of its keys, which all have to have ended, are deleted. What it has used stays in the record of use.',
      done: '{name} is removed',
    },
    command: {
      usage: 'customers remove <customer>',
      asks: (_session, id) => `Remove the customer ${id} and the records of its keys?`,
    },
    summary: 'Delete a customer whose keys have all ended; its record of use stays',
    responds: 'The customer as it was',
    result: customerViewSchema,
    resultId: 'RemovedCustomer',
    run: (session, { target }) => removeCustomer(session, target),
  }),
  list({
    operationId: 'listCustomerFailures',
    http: 'GET /customers/:customer/failures',
    summary: 'Last failed requests of a customer in the last seven days, newest first',
    description: 'At most five of each code, so that many of one kind hide no other. Some seconds old.',
    responds: 'Failed requests',
    result: listOf(failureSchema),
    run: async (session, { target }) => readFailures(session, (await showCustomer(session.redis, target)).id),
  }),
  changeAndShow({
    operationId: 'resetCustomerDay',
    http: 'DELETE /customers/:customer/day',
    audits: { 'usage.reset-day': "reset today's usage of" },
    asks: { offer: "Reset today's usage", done: "Today's usage of {name} counts from 0 again" },
    command: {
      usage: 'customers reset-usage <customer>',
      says: 'give a customer its UTC day back: the day limit counts from 0 again, the record of use keeps all',
      examples: [`customers reset-usage ${id} --reason "their retry loop, ticket 813"`],
    },
    summary: 'Set the UTC day of a customer back: its day limit counts from 0 again',
    description: 'The record of use keeps what was served, and a month limit counts it.',
    ...shown,
    run: async (session, { target }) => ({ id: target, setBack: await resetDay(session, target) }),
  }),
  list({
    operationId: 'getCustomerUsage',
    http: 'GET /customers/:customer/usage',
    command: {
      usage: 'usage show <customer>',
      says: 'use of a customer on each of the last UTC days, today included',
      examples: [`usage show ${id}`, `usage show ${id} --days 7 --output csv`],
      options: { days: { says: 'number of days' } },
      columns: {
        DATE: 'date',
        PLAN: 'plan',
        SERVED: 'served',
        REFUSED: 'refused',
        // Of a customer that calls operations that cost more than one.
        UNITS: ({ units, served }) => (units === served ? null : units),
      },
      sparse: ['UNITS'],
      csv: ['date', 'plan', 'served', 'refused', 'units'],
    },
    summary: 'Use of a customer on each of the last UTC days, oldest first, today included',
    input: z.strictObject({ days: countInput(400, 30) }),
    responds: 'Each day, also those without use',
    result: listOf(dayUsageSchema),
    run: async (session, { target, input: { days } }) =>
      (await readLastDays(session, asCustomerId(target), days)).map((day) =>
        Object.assign(day, { units: unitsOf(day) }),
      ),
  }),
];
