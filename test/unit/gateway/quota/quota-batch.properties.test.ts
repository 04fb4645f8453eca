import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RedisClient } from '../../../../gateway/platform/redis/redis-client.ts';
import { RedisUnavailable } from '../../../../gateway/platform/redis/redis-gate.ts';
import { quotaKeys } from '../../../../gateway/platform/redis/redis-keys.ts';
import { scriptOutcome } from '../../../../gateway/platform/redis/scripts.ts';
import { createQuotaBatch } from '../../../../gateway/quota/redis-quota.ts';
import { stepOf } from '../../../support/checks/steps.ts';

const step = fc.oneof(
  stepOf(6, 'requests', { number: fc.constantFrom(1, 2, 3, 99, 100, 101, 250) }),
  stepOf(4, 'turn of the event loop'),
  stepOf(4, 'reply'),
  stepOf(1, 'outage'),
  stepOf(1, 'invalid record'),
);

/** Lets replies arrive until all requests have a result. */
async function settle<T>(scheduler: fc.Scheduler, results: readonly Promise<T>[]): Promise<T[]> {
  const state = { done: false };
  const all = Promise.all(results).finally(() => (state.done = true));
  while (!state.done) {
    await nextTurn();
    await scheduler.waitIdle();
  }
  return all;
}

const keysOf = (name: string) => quotaKeys({ customerId: `cus_${name}`, keyHash: name });

test('whatever the order of requests, replies and outages, each request gets its own reply or an error', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(step, { maxLength: 25 }), async (scheduler, steps) => {
      const gate = { open: true, send: <T>(command: () => Promise<T>) => command() };
      let outages = 0;
      const commands = { now: 0, largest: 0 };
      const executed: string[] = [];
      let invalid: string | undefined;
      /** Replies to each request with its own argument, as a number. */
      async function consumeQuota(numberOfKeys: number, ...keysAndArgs: string[]): Promise<string> {
        const requests = numberOfKeys / 4;
        expect(keysAndArgs.length).toBe(numberOfKeys + 1 + requests);
        expect(keysAndArgs[numberOfKeys]).toBe('the policies');
        const replies = Array.from({ length: requests }, (_, index) => {
          const argument = keysAndArgs[numberOfKeys + 1 + index] ?? '';
          executed.push(argument);
          expect(keysAndArgs[4 * index]).toBe(keysOf(argument)[0]);
          return argument === invalid ? [scriptOutcome.wrongType] : [scriptOutcome.allowed, Number(argument)];
        });
        commands.now += 1;
        commands.largest = Math.max(commands.largest, requests);
        const before = outages;
        await scheduler.schedule(Promise.resolve());
        commands.now -= 1;
        if (outages !== before) throw new RedisUnavailable('no reply');
        return JSON.stringify(replies);
      }
      const redis = { consumeQuota } as unknown as RedisClient;
      const batch = createQuotaBatch({ redis, gate, policies: () => ['the policies'] });
      const results: Promise<'reply' | 'unavailable' | 'invalid'>[] = [];
      const send = (id: number) => {
        const run = batch.run(keysOf(String(id)), [String(id)], ([, own]) => own);
        results.push(
          run.then(
            (own) => {
              expect(own).toBe(id);
              return 'reply';
            },
            (error: unknown) => (error instanceof RedisUnavailable ? 'unavailable' : 'invalid'),
          ),
        );
      };
      for (const step of steps) {
        if (step.does === 'requests')
          for (let sent = 0; sent < step.number; sent += 1) send(results.length + 1);
        else if (step.does === 'turn of the event loop') await nextTurn();
        else if (step.does === 'reply') {
          if (scheduler.count() > 0) await scheduler.waitNext(1);
        } else if (step.does === 'outage') {
          if (gate.open) outages += 1;
          gate.open = !gate.open;
        } else {
          invalid ??= String(results.length + 1);
          send(results.length + 1);
        }
      }
      const outcomes = await settle(scheduler, results);
      expect(new Set(executed).size).toBe(executed.length);
      for (const [index, outcome] of outcomes.entries()) {
        // One that was not sent is decided without Redis, and must not be counted there later.
        if (outcome === 'reply') expect(executed).toContain(String(index + 1));
        if (outcome === 'invalid') expect(String(index + 1)).toBe(invalid);
      }
      if (outages === 0) expect(outcomes).not.toContain('unavailable');
      expect(commands.largest).toBeLessThanOrEqual(100);
      expect(commands.now).toBe(0);
    }),
    { numRuns: 30 },
  );
});

test('requests of one turn share commands, of which four at most wait for a reply', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 }),
      async (scheduler, turns) => {
        let waiting = 0;
        let most = 0;
        const sizes: number[] = [];
        const redis = {
          async consumeQuota(numberOfKeys: number) {
            sizes.push(numberOfKeys / 4);
            waiting += 1;
            most = Math.max(most, waiting);
            await scheduler.schedule(Promise.resolve());
            waiting -= 1;
            return JSON.stringify(Array.from({ length: numberOfKeys / 4 }, () => [scriptOutcome.allowed]));
          },
        } as unknown as RedisClient;
        const gate = { open: true, send: <T>(command: () => Promise<T>) => command() };
        const batch = createQuotaBatch({ redis, gate, policies: () => [] });
        const results: Promise<unknown>[] = [];
        for (const requests of turns) {
          for (let sent = 0; sent < requests; sent += 1)
            results.push(batch.run(keysOf('a'), [''], () => true));
          await nextTurn();
        }
        const sentBeforeReply = Math.min(4, turns.length);
        expect(sizes).toEqual(turns.slice(0, sentBeforeReply));
        await settle(scheduler, results);
        expect(most).toBe(sentBeforeReply);
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(results.length);
      },
    ),
    { numRuns: 30 },
  );
});
