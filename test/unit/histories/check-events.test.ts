import { describe, expect, test } from 'vitest';
import type { Delivery, EventHistory, PublishedEvent } from '../../histories/history.ts';
import { banned, broken, change, fault, request, seconds, startMs, three } from './made-history.ts';

/*
 * Hand-written histories of events: those that keep the promises, and those that break one.
 */

let last = 0;

function event(at: number, type: string, data: PublishedEvent['data']): PublishedEvent {
  last += 1;
  return { id: `evt_${last}`, type, owner: 'k', atMs: startMs + at * 1000, data };
}

const threshold = (at: number, share: number, used: number) =>
  event(at, 'quota.threshold', { window: 'day', windowStart: 'today', threshold: share, limit: 50, used });
const ban = (at: number, endsAt: number) =>
  event(at, 'ban.began', {
    keyId: 'k',
    endsAt: new Date(startMs + endsAt * 1000).toISOString(),
    reason: null,
  });

function delivery({ id }: PublishedEvent, at: number, status = 204): Delivery {
  return { id, body: id, status, ...seconds(at, at + 0.01) };
}

/** Each event delivered once, a second apart, or what is given. */
function events(published: PublishedEvent[], deliveries?: Delivery[]): { events: EventHistory } {
  return {
    events: { published, deliveries: deliveries ?? published.map((one, index) => delivery(one, 20 + index)) },
  };
}

describe('changes', () => {
  const created = () => event(1, 'key.created', { keyId: 'k' });
  const create = change(1, 1.1, { does: 'create', owner: 'k', key: 'k' });
  const revoke = change(2, 2.1, { does: 'revoke', key: 'k' });

  test('have one event each', () => {
    const revoked = event(2, 'key.revoked', { keyId: 'k' });
    const changes = [create, revoke];
    expect(broken([], { changes, ...events([created(), revoked]) })).toEqual([]);
    expect(broken([], { changes, ...events([created()]) })).toEqual(['changes are events']);
    expect(broken([], { changes, ...events([created(), created(), revoked]) })).toEqual([
      'each event once',
      'changes are events',
    ]);
  });

  test('whose reply was lost may have one', () => {
    const changes = [create, { ...revoke, outcome: 'unknown' as const }];
    const revoked = event(2, 'key.revoked', { keyId: 'k' });
    expect(broken([], { changes, ...events([created()]) })).toEqual([]);
    expect(broken([], { changes, ...events([created(), revoked]) })).toEqual([]);
    const other = event(2, 'key.created', { keyId: 'other' });
    expect(broken([], { changes, ...events([created(), other]) })).toEqual(['changes are events']);
    const unknown = change(1.5, 1.6, { does: 'create', owner: 'k' }, 'unknown');
    expect(broken([], { changes: [...changes, unknown], ...events([created(), other]) })).toEqual([]);
  });

  test('of the plan are told in their order', () => {
    const set = (at: number, plan: string) =>
      change(at, at + 0.1, { does: 'set limits', owner: 'k', limits: { plan } });
    const told = (from: string, to: string) => event(3, 'plan.changed', { from, to });
    const changes = [set(1, 'pro'), set(2, 'pro'), set(3, 'free')];
    const both = () => [told('free', 'pro'), told('pro', 'free')];
    expect(broken([], { changes, ...events(both()) })).toEqual([]);
    expect(broken([], { changes, ...events(both().toReversed()) })).toEqual(['plans are told']);
    expect(broken([], { changes, ...events(both().slice(0, 1)) })).toEqual(['plans are told']);
  });
});

describe('what gateways find', () => {
  const requests = () =>
    Array.from({ length: 40 }, (_, used) => request({ at: 1 + used / 100, headers: {} }));
  const use = { k: { served: 40, refused: 0 } };

  test('a threshold is told once, when it is reached', () => {
    const check = (published: PublishedEvent[]) =>
      broken(requests(), { use, ...events(published) }).filter((name) => /told|once/.test(name));
    expect(check([threshold(1.4, 80, 40)])).toEqual([]);
    expect(check([])).toEqual(['thresholds are told']);
    expect(check([threshold(9, 80, 40)])).toEqual(['thresholds are told']);
    expect(check([threshold(1.4, 80, 40), threshold(1.4, 100, 50)])).toEqual(['thresholds are told']);
    expect(check([threshold(1.4, 80, 40), threshold(1.4, 80, 41)])).toContain('each event once');
  });

  test('a threshold is one of those that were set', () => {
    const check = (thresholds: number[]) =>
      broken(requests(), { use, thresholds, ...events([threshold(1.4, 80, 40)]) }).filter((name) =>
        /told/.test(name),
      );
    expect(check([80, 90])).toEqual([]);
    expect(check([20, 80])).toEqual(['thresholds are told']);
  });

  test('a ban is told once, unless its process was killed', () => {
    const first = banned({ at: 6, endsAt: 66 });
    const check = (published: PublishedEvent[], killedAt?: number) => {
      const endMs = startMs + (killedAt ?? 0) * 1000;
      const lives = [{ gateway: 0, startMs: startMs - 5000, endMs, killed: true }];
      const more = killedAt === undefined ? {} : { lives };
      return broken([...three(), first], { ...more, ...events(published) }).filter((name) =>
        /told|once/.test(name),
      );
    };
    expect(check([ban(6, 66)])).toEqual([]);
    expect(check([])).toEqual(['bans are told']);
    expect(check([], 7)).toEqual([]);
    expect(check([ban(6, 66), ban(6, 66.002)])).toEqual(['each event once']);
  });
});

describe('deliveries', () => {
  const pair = () => [ban(1, 2), ban(3, 4)] as const;

  test('come at least once, and again after a failure', () => {
    const [one, other] = pair();
    const all = [delivery(one, 5, 503), delivery(one, 6, 0), delivery(one, 7), delivery(other, 8)];
    expect(broken([], events([one, other], all))).toEqual([]);
    expect(broken([], events([one, other], all.slice(0, 3)))).toEqual(['events are delivered']);
    expect(broken([], events([one], [delivery(one, 5), delivery(other, 6)]))).toEqual([
      'events are delivered',
    ]);
    const changed = [delivery(one, 5, 503), { ...delivery(one, 6), body: 'other' }];
    expect(broken([], events([one], changed))).toEqual(['events are delivered']);
  });

  test('come in order: the next one after the last one was taken', () => {
    const [one, other] = pair();
    const late = [delivery(one, 5, 503), delivery(other, 6), delivery(one, 7)];
    expect(broken([], events([one, other], late))).toEqual(['events in order']);
  });

  test('come again after a fault only', () => {
    const [one] = pair();
    const twice = events([one], [delivery(one, 5), delivery(one, 11)]);
    expect(broken([], twice)).toEqual(['events repeated with cause']);
    expect(broken([], { ...twice, faults: [fault('fail receiver', 'receiver', 4, 6)] })).toEqual([
      'events repeated with cause',
    ]);
    expect(broken([], { ...twice, faults: [fault('pause redis', 'redis', 4.5, 6)] })).toEqual([]);
  });
});
