import { expect, test } from 'vitest';
import type { RedisClient } from '../../../../gateway/platform/redis/redis-client.ts';
import type { RedisGate } from '../../../../gateway/platform/redis/redis-gate.ts';
import { createAddressLimit, createRefusedAddresses } from '../../../../gateway/quota/address-limit.ts';

const group = '203.0.113.7';

function create() {
  let nowMs = 5000;
  return {
    refused: createRefusedAddresses({ now: () => nowMs }),
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

test('a refusal is remembered for a second, and its remaining time decreases', () => {
  const { refused, pass } = create();
  refused.remember(group, { limit: 60, remaining: 0, resetMs: 30_000 });
  pass(999);
  expect(refused.find(group)).toEqual({ limit: 60, remaining: 0, resetMs: 29_001 });
  expect(refused.find('203.0.113.8')).toBeUndefined();
  pass(1);
  expect(refused.find(group)).toBeUndefined();
});

test('a refusal is not remembered beyond the end of its window', () => {
  const { refused, pass } = create();
  refused.remember(group, { limit: 60, remaining: 0, resetMs: 300 });
  pass(299);
  expect(refused.find(group)?.resetMs).toBe(1);
  refused.prolong(group);
  pass(1);
  expect(refused.find(group)).toBeUndefined();
});

test('a prolonged refusal is remembered for another second, until it is forgotten', () => {
  const { refused, pass } = create();
  refused.prolong(group);
  expect(refused.find(group)).toBeUndefined();
  refused.remember(group, { limit: 60, remaining: 0, resetMs: 30_000 });
  pass(1500);
  refused.prolong(group);
  expect(refused.find(group)?.resetMs).toBe(28_500);
  refused.forget(group);
  expect(refused.find(group)).toBeUndefined();
});

test('without Redis, a process counts the requests of an address itself', async () => {
  const gate = { open: false } as RedisGate;
  const { charge, peek } = createAddressLimit({ redis: {} as RedisClient, gate, limit: () => 2 });
  expect(await peek(group)).toEqual({ limit: 2, remaining: 2, resetMs: 60_000 });
  const charged = [await charge(group), await charge(group), await charge(group)];
  expect(charged.map(({ allowed, window }) => [allowed, window.remaining])).toEqual([
    [true, 1],
    [true, 0],
    [false, 0],
  ]);
  expect(await peek(group)).toMatchObject({ limit: 2, remaining: 0 });
});
