import { describe, expect, test } from 'vitest';
import { makeSchedule } from '../../histories/make-schedule.ts';
import { targetOf, type Schedule } from '../../histories/schedule.ts';
import { shrink } from '../../histories/shrink.ts';

const seeds = Array.from({ length: 200 }, (_, seed) => seed);
const lengthMs = 15_000;

describe('a schedule', () => {
  test('is the same for the same seed, and another one for another', () => {
    expect(makeSchedule({ seed: 7, lengthMs })).toEqual(makeSchedule({ seed: 7, lengthMs }));
    const texts = seeds.map((seed) => JSON.stringify({ ...makeSchedule({ seed, lengthMs }), seed: 0 }));
    expect(new Set(texts).size).toBe(seeds.length);
  });

  test('names gateways and keys that it has, and lets a fault of a process end before the next one', () => {
    for (const seed of seeds) {
      const { gateways, keys, clients, changes, faults } = makeSchedule({ seed, lengthMs });
      const names = new Set(keys.map(({ name }) => name));
      const named = [...clients, ...changes].flatMap((one) => ('key' in one ? [one.key] : []));
      expect(named.filter((name) => !names.has(name))).toEqual([]);
      const used = [
        ...clients.flatMap((client) => client.gateways),
        ...faults.map(({ gateway = 0 }) => gateway),
      ];
      expect(used.every((gateway) => gateway >= 0 && gateway < gateways)).toBe(true);
      const byTarget = Map.groupBy(faults, ({ kind, gateway }) => `${targetOf(kind)} ${gateway}`);
      for (const same of byTarget.values()) {
        for (const [index, fault] of same.entries())
          expect(fault.atMs).toBeGreaterThan((same[index - 1]?.atMs ?? 0) + (same[index - 1]?.forMs ?? 0));
      }
      expect(faults.every(({ atMs, forMs }) => atMs + forMs < lengthMs)).toBe(true);
    }
  });

  test('has every manner, change and kind of fault among some seeds', () => {
    const all = seeds.map((seed) => makeSchedule({ seed, lengthMs }));
    const among = (list: (schedule: Schedule) => string[]) => new Set(all.flatMap(list)).size;
    expect(among(({ clients }) => clients.map(({ manner }) => manner))).toBe(4);
    expect(among(({ changes }) => changes.map(({ does }) => does))).toBe(11);
    expect(among(({ faults }) => faults.map(({ kind }) => kind))).toBe(10);
  });
});

describe('a schedule that fails', () => {
  const schedule = makeSchedule({ seed: 5, lengthMs: 60_000 });
  const [needed] = schedule.faults.slice(3);
  const needs = ({ faults, clients }: Schedule) =>
    Promise.resolve(
      faults.some((fault) => fault === needed) && clients.some(({ name }) => name === 'client2.1'),
    );

  test('is shrunk to what makes it fail', async () => {
    const { schedule: shortest } = await shrink(schedule, needs, 1000);
    expect(shortest.faults).toEqual([needed]);
    expect(shortest.changes).toEqual([]);
    expect(shortest.clients.map(({ name }) => name)).toEqual(['client2.1']);
    expect(shortest.keys.map(({ name }) => name)).toEqual(['key2']);
  });
});
