import { generateKeyPairSync } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { ServiceConfig } from '../../../../gateway/config/service-config.ts';
import { createServiceUpstreams } from '../../../../gateway/upstream/service-upstream.ts';

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

const service = (fields: Partial<ServiceConfig> = {}): ServiceConfig => ({
  name: 'orders',
  audience: 'orders',
  urls: ['http://127.0.0.1:9'],
  timeoutMs: 1000,
  connections: 4,
  readiness: '/readyz',
  description: { file: 'orders.yaml', text: '' },
  ...fields,
});

const privateKey = newKey();

function start(services: ServiceConfig[]) {
  const states: string[] = [];
  const upstreams = createServiceUpstreams({
    services,
    privateKey,
    log: pino({ level: 'silent' }),
    onState: (name, origin, state) => states.push(`${name} ${origin} ${state}`),
    now: () => Date.now(),
  });
  onTestFinished(() => upstreams.close());
  const replace = (next: ServiceConfig[], key = privateKey) => {
    const [before] = upstreams.current();
    const closeUnused = upstreams.replace(next, key);
    const [after] = upstreams.current();
    if (before === undefined || after === undefined) throw new Error('there is a service');
    return { before, after, closeUnused };
  };
  return { upstreams, states, replace };
}

test('a service whose instances change keeps its connections and tokens', async () => {
  const { replace } = start([service()]);
  const { before, after, closeUnused } = replace([service({ urls: ['http://127.0.0.2:9'] })]);
  expect(after).toBe(before);
  expect(after.upstreams.targets.map(({ origin }) => origin)).toEqual(['http://127.0.0.2:9']);
  await closeUnused();
  expect(after.dispatcher).toHaveProperty('destroyed', false);
});

test('other settings replace the part that they concern, and nothing else', () => {
  const { replace } = start([service()]);
  const slower = replace([service({ timeoutMs: 2000 })]);
  expect(slower.after).toEqual({ ...slower.before, timeoutMs: 2000 });
  const renamed = replace([service({ timeoutMs: 2000, audience: 'shop' })]);
  expect(renamed.after).toEqual({ ...renamed.before, authorize: expect.any(Function) });
  expect(renamed.after.authorize).not.toBe(renamed.before.authorize);
  const rekeyed = replace([service({ timeoutMs: 2000, audience: 'shop' })], newKey());
  expect(rekeyed.after.authorize).not.toBe(rekeyed.before.authorize);
  expect(rekeyed.after.dispatcher).toBe(rekeyed.before.dispatcher);
});

test('other connections are used at once, and the old ones closed when requests have ended', async () => {
  const { replace } = start([service()]);
  const { before, after, closeUnused } = replace([service({ connections: 8 })]);
  expect(after.dispatcher).not.toBe(before.dispatcher);
  expect(after.upstreams).toBe(before.upstreams);
  expect(before.dispatcher).toHaveProperty('destroyed', false);
  await closeUnused();
  expect(before.dispatcher).toHaveProperty('destroyed', true);
  expect(after.dispatcher).toHaveProperty('destroyed', false);
});

test('a removed service shows no state any more, and still serves requests that have begun', async () => {
  const { upstreams, states } = start([service(), service({ name: 'pets', urls: ['http://127.0.0.3:9'] })]);
  const [orders] = upstreams.current();
  states.length = 0;
  const closeUnused = upstreams.replace(
    [service({ name: 'pets', urls: ['http://127.0.0.3:9'] })],
    privateKey,
  );
  expect(states).toEqual(['orders http://127.0.0.1:9 undefined']);
  expect(upstreams.current().map(({ name }) => name)).toEqual(['pets']);
  const target = orders?.upstreams.take();
  expect(target?.origin).toBe('http://127.0.0.1:9');
  if (target === undefined) return;
  orders?.upstreams.succeeded(target, target.epoch, performance.now());
  expect(target.state).toBe('ready');
  expect(states).toHaveLength(1);
  await closeUnused();
  expect(orders?.dispatcher).toHaveProperty('destroyed', true);
});
