import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createApiKeyCache, type ApiKeyLookup } from '../../../../gateway/keys/api-key-cache.ts';
import type { RedisClient } from '../../../../gateway/platform/redis/redis-client.ts';
import { UnexpectedValue } from '../../../../gateway/platform/redis/redis-errors.ts';
import { RedisUnavailable, type RedisGate } from '../../../../gateway/platform/redis/redis-gate.ts';
import { stepOf } from '../../../support/checks/steps.ts';

const step = fc.oneof(
  stepOf(5, 'find'),
  stepOf(2, 'read again'),
  stepOf(5, 'receive a reply'),
  stepOf(2, 'change'),
  stepOf(1, 'revoke'),
  stepOf(1, 'make invalid'),
  stepOf(1, 'lose the last change'),
  stepOf(1, 'shut or open the gate'),
  stepOf(2, 'wait', { ms: fc.constantFrom(9000, 11_000, 20 * 60_000) }),
);

/** One key in a Redis whose replies arrive when the scheduler lets them. */
interface Scenario {
  scheduler: fc.Scheduler;
  keyHash: string;
  open: boolean;
  nowMs: number;
  rev: number;
  reads: number;
  record: Record<string, string>;
  before: Record<string, string>;
}

// One cache for all scenarios, each of which has a key of its own: to create one takes milliseconds.
let scenario: Scenario;
let scenarios = 0;

const cache = createApiKeyCache({
  redis: {
    get: (key: string) => Promise.resolve(`cus_${key.slice(-18)}`),
    hgetall(key: string) {
      if (key.startsWith('gw:key:')) scenario.reads += 1;
      return Promise.resolve(scenario.record);
    },
  } as unknown as RedisClient,
  gate: {
    get open() {
      return scenario.open;
    },
    async send<T>(command: () => Promise<T>): Promise<T> {
      if (!scenario.open) throw new RedisUnavailable('not used at the moment');
      const reply = await command();
      await scenario.scheduler.schedule(Promise.resolve());
      if (!scenario.open) throw new RedisUnavailable('no reply');
      return reply;
    },
  } as unknown as RedisGate,
  invalidValues: { report: () => {}, forget: () => {}, list: () => [] },
  plans: { ensureLoaded: () => Promise.resolve(), limitsOf: () => ({ minute: 1, day: 1 }) },
  setUpMarker: { isMissing: () => false, refresh: () => Promise.resolve() },
  now: () => scenario.nowMs,
});

/** The name of each version of the record is its number. */
const version = (rev: number) => ({ id: 'k', plan: 'free', name: String(rev), rev: String(rev) });

function begin(scheduler: fc.Scheduler): Scenario {
  scenarios += 1;
  const keyHash = scenarios.toString(16).padStart(64, '0');
  const record = version(1);
  scenario = { scheduler, keyHash, open: true, nowMs: 1_000_000, rev: 1, reads: 0, record, before: record };
  return scenario;
}

function change(fields: Record<string, string> = {}): void {
  scenario.rev += 1;
  scenario.before = scenario.record;
  scenario.record = { ...version(scenario.rev), ...fields };
}

test('whatever the order of reads and changes, a revocation that was seen is final, and no record goes back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(step, { maxLength: 40 }), async (scheduler, steps) => {
      const { keyHash } = begin(scheduler);
      const lookups: ApiKeyLookup[] = [];
      const keep = (lookup: ApiKeyLookup) => lookups.push(lookup);
      const pending: Promise<unknown>[] = [];
      /** A record that was made invalid. */
      const isInvalid = (error: unknown) => expect(error).toBeInstanceOf(UnexpectedValue);
      const isRevoked = () => lookups.some(({ outcome }) => outcome === 'revoked');
      let servedRevoked = false;
      for (const step of steps) {
        switch (step.does) {
          case 'find':
            pending.push(cache.find(keyHash).then(keep, isInvalid));
            break;
          case 'read again':
            pending.push(cache.reread(keyHash).then(keep, isInvalid));
            break;
          case 'receive a reply':
            if (scheduler.count() > 0) await scheduler.waitNext(1);
            break;
          case 'change':
            if (!('revokedAt' in scenario.record)) change();
            break;
          case 'revoke':
            change({ revokedAt: '2026-01-01T00:00:00Z' });
            break;
          case 'make invalid':
            if (!('revokedAt' in scenario.record)) change({ plan: '' });
            break;
          case 'lose the last change':
            scenario.record = scenario.before;
            break;
          case 'shut or open the gate':
            scenario.open = !scenario.open;
            break;
          case 'wait':
            scenario.nowMs += step.ms;
        }
        servedRevoked ||= isRevoked() && cache.getCached(keyHash) !== undefined;
      }
      await scheduler.waitIdle();
      await Promise.all(pending);
      expect(servedRevoked).toBe(false);
      const afterRevocation = lookups.slice(lookups.findIndex(({ outcome }) => outcome === 'revoked'));
      expect(isRevoked() ? afterRevocation.map(({ outcome }) => outcome) : []).not.toContain('valid');
      const names = lookups.flatMap((lookup) =>
        lookup.outcome === 'valid' ? Number(lookup.caller.name) : [],
      );
      expect(names).toEqual(names.toSorted((one, other) => one - other));
    }),
    { numRuns: 200 },
  );
});

test('requests that wait for the record of one key share one read, and one of a later time reads again', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 10 }),
      async (scheduler, rounds) => {
        const { keyHash } = begin(scheduler);
        for (const [index, requests] of rounds.entries()) {
          change();
          const lookups = Promise.all(Array.from({ length: requests }, () => cache.find(keyHash)));
          await scheduler.waitIdle();
          expect(scenario.reads).toBe(index + 1);
          for (const lookup of await lookups) expect(lookup).toMatchObject({ caller: { rev: scenario.rev } });
          expect(cache.getCached(keyHash)).toMatchObject({ rev: scenario.rev });
        }
      },
    ),
    { numRuns: 30 },
  );
});
