/*
 * An example to copy into a billing system. As a program for Node 24 or later, with OPS_API and OPS_TOKEN in the environment:
 *
 *   node billing.ts subscribe ORDER NAME PLAN   makes a customer with a key
 *   node billing.ts move CUSTOMER PLAN          moves it to another plan
 *   node billing.ts portal CUSTOMER             makes a link to the portal, which works once: redirect the browser to it
 *   node billing.ts use MONTH                   use of each customer, such as of 2026-11
 */
import { setTimeout as sleep } from 'node:timers/promises';

const { OPS_API: api = 'http://localhost:9090', OPS_TOKEN: token = '' } = process.env;
const maxAttempts = 5;

interface Call {
  method?: string;
  body?: object;
  /** The same for each repetition of one order, so that it is executed once. */
  idempotencyKey?: string;
}

async function call<T>(path: string, { method = 'GET', body, idempotencyKey }: Call = {}): Promise<T> {
  const request = {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': `"${idempotencyKey}"` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(api + path, request).catch(() => undefined);
    if (response?.ok) return JSON.parse(await response.text());
    // Without a response, or with one of these, the request may be repeated: it is a GET, has a key, names its rev, or makes a link.
    if ((response !== undefined && ![429, 503].includes(response.status)) || attempt === maxAttempts) {
      throw new Error(`${method} ${path}: ${response === undefined ? 'no response' : await response.text()}`);
    }
    await sleep(Number(response?.headers.get('Retry-After') ?? attempt) * 1000);
  }
}

async function subscribe(order: string, name: string, plan: string): Promise<void> {
  const customer = await call<{ id: string }>('/api/customers', {
    method: 'POST',
    body: { name, plan, reference: order },
    idempotencyKey: `customer ${order}`,
  });
  const { key } = await call<{ key: string }>(`/api/customers/${customer.id}/keys`, {
    method: 'POST',
    body: {},
    idempotencyKey: `key ${order}`,
  });
  console.log(JSON.stringify({ customer: customer.id, key }));
}

/** `rev` is that of the customer as it was read: if somebody else changes it in between, the response is 409. */
async function move(id: string, plan: string): Promise<void> {
  const { rev } = await call<{ rev: number }>(`/api/customers/${id}`);
  const moved = await call<{ plan: string }>(`/api/customers/${id}`, {
    method: 'PATCH',
    body: { rev, plan },
  });
  console.log(JSON.stringify({ customer: id, plan: moved.plan }));
}

/** Repeated, it is another link. */
async function portal(id: string): Promise<void> {
  const { link } = await call<{ link: string }>(`/api/customers/${id}/link`, { method: 'POST' });
  console.log(JSON.stringify({ customer: id, link }));
}

async function use(month: string): Promise<void> {
  const { items } = await call<{ items: { id: string; served: number; units?: number }[] }>(
    `/api/usage/customers?month=${month}`,
  );
  // Units are there if an operation costs more than one.
  for (const { id, served, units = served } of items) console.log(JSON.stringify({ customer: id, units }));
}

const [command = '', first = '', second = '', third = ''] = process.argv.slice(2);
const commands: Record<string, () => Promise<void>> = {
  subscribe: () => subscribe(first, second, third),
  move: () => move(first, second),
  portal: () => portal(first),
  use: () => use(first),
};
try {
  const run = commands[command];
  if (run === undefined) throw new Error(`usage: node billing.ts ${Object.keys(commands).join(' | ')} …`);
  await run();
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
