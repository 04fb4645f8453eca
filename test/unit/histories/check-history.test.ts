import { describe, expect, test } from 'vitest';
import { promises } from '../../histories/check-history.ts';
import {
  banned,
  broken,
  change,
  fault,
  history,
  minuteEndMs,
  outage,
  refused,
  refusedForKey,
  request,
  startMs,
  three,
} from './made-history.ts';

/*
 * Hand-written histories: for each promise one that keeps it, at its very edge, and one that does not.
 */

describe('quotas', () => {
  test('a window that is used up and then refuses keeps all promises', () => {
    expect(broken([...three(), refused({ at: 4 })])).toEqual([]);
  });

  test('one more than the limit is found, if the others were complete before it was sent', () => {
    const fourth = { used: 3, minuteLimit: 3 };
    expect(broken([...three(), request({ at: 4, ...fourth })])).toContain('never over the limit');
    // Sent before the third was complete: that one may have come after it.
    const last = request({ at: 3.005, used: 4, minuteLimit: 4 });
    const raise = change(3.006, 3.007, {
      does: 'set limits',
      owner: 'k',
      limits: { plan: 'free', minute: 4 },
    });
    expect(broken([...three(), last], { changes: [raise] })).toEqual([]);
  });

  test('requests before the history count in a minute that was open', () => {
    const opened = [{ owner: 'k', used: 2, startMs: minuteEndMs, endMs: minuteEndMs }];
    const [third, fourth] = [
      request({ at: 1, used: 3, usedOfDay: 1 }),
      request({ at: 2, used: 3, usedOfDay: 2 }),
    ];
    expect(broken([third, refused({ at: 2, usedOfDay: 1 })], { opened })).toEqual([]);
    expect(broken([third, fourth], { opened })).toContain('never over the limit');
  });

  test('two requests with the same place are found', () => {
    expect(broken([request({ at: 1 }), request({ at: 1, used: 2 })])).toEqual([]);
    expect(broken([request({ at: 1 }), request({ at: 1 })])).toEqual(['a place for each request']);
  });

  test('a window whose end moves, or that ends too soon after another, is found', () => {
    const minutes = (second: number) => [
      request({ at: 1 }),
      request({ at: 45, used: 1, usedOfDay: 2, minuteEndsAt: startMs + second * 1000 }),
    ];
    expect(broken(minutes(105))).toEqual([]);
    expect(broken(minutes(95))).toEqual(['fixed windows']);
    expect(
      broken([request({ at: 1 }), request({ at: 2, used: 2, minuteEndsAt: minuteEndMs + 5000 })]),
    ).toEqual(['fixed windows']);
  });

  test('more than two windows in 60 s are found without looking at headers', () => {
    const many = Array.from({ length: 7 }, (_, at) => request({ at, headers: {} }));
    expect(broken(many.slice(1))).not.toContain('two windows in a minute at most');
    expect(broken(many)).toContain('two windows in a minute at most');
  });

  test('a limit that is not in force is found: at once for an own one, after a second and a half for a plan', () => {
    const later = (at: number) => [request({ at, minuteLimit: 3 })];
    const own = change(1, 1.1, { does: 'set limits', owner: 'k', limits: { plan: 'free', minute: 9 } });
    expect(broken(later(1.05), { changes: [own] })).toEqual([]);
    expect(broken(later(1.2), { changes: [own] })).toEqual(['limit in force']);
    expect(broken(later(1.2), { changes: [{ ...own, outcome: 'unknown' }] })).toEqual([]);
    const plan = change(1, 1.1, { does: 'set plan', plan: 'free', limits: { minute: 9, day: 50 } });
    expect(broken(later(2.5), { changes: [plan] })).toEqual([]);
    expect(broken(later(2.7), { changes: [plan] })).toEqual(['limit in force']);
    // While Redis was disturbed, a gateway could not read it.
    expect(broken(later(2.7), { changes: [plan], faults: [fault('pause redis', 'redis', 1.5, 2)] })).toEqual(
      [],
    );
  });

  test('a refusal with room is found, unless requests without a response may have used it', () => {
    const two = three().slice(0, 2);
    expect(broken([...two, refused({ at: 4 })])).toEqual(['refused only without room']);
    const lost = request({ at: 3, status: 0, headers: {} });
    const killed = [fault('kill gateway', 'gateway', 3, 3.1)];
    expect(broken([...two, lost, refused({ at: 4 })], { faults: killed })).toEqual([]);
    const unsent = { ...lost, code: 'not_connected' };
    expect(broken([...two, unsent, refused({ at: 4 })], { faults: killed })).toEqual([
      'refused only without room',
    ]);
  });

  test('a count that falls is found', () => {
    expect(broken([request({ at: 1, used: 2 }), request({ at: 1, used: 1 })])).toEqual([]);
    expect(broken([request({ at: 1, used: 2 }), request({ at: 2, used: 1, usedOfDay: 3 })])).toContain(
      'remaining never rises',
    );
  });

  test('a refusal after Retry-After is found, unless others may have used the new window', () => {
    const first = [...three(), refused({ at: 4 })];
    const next = (at: number, used: number) =>
      request({ at, used, usedOfDay: 3 + used, minuteEndsAt: startMs + 101_000 });
    const again = refused({ at: 43, usedOfDay: 6, minuteEndsAt: startMs + 101_000 });
    expect(broken([...first, again])).toContain('Retry-After suffices');
    expect(broken([...first, next(41, 1), next(41.1, 2), next(41.2, 3), again])).toEqual([]);
  });

  test('without Redis, a process serves the limit, and no less', () => {
    const without = {
      plans: { free: { minute: 3, day: 60 } },
      outages: [outage(4, 30)],
      faults: [fault('pause redis', 'redis', 4, 29)],
    };
    const local = (at: number, used: number) => request({ at, used, minuteEndsAt: startMs + 60_000 });
    const served = [local(5, 1), local(6, 2), local(7, 3)];
    const over = refused({ at: 8, minuteEndsAt: startMs + 60_000 });
    expect(broken([...served, over], without)).toEqual([]);
    expect(broken([...served, local(9, 3)], without)).toEqual(['the limit without Redis']);
    expect(broken([...served.slice(0, 2), over], without)).toEqual(['the limit without Redis']);
  });
});

describe('keys', () => {
  const revoke = change(1, 1.1, { does: 'revoke', key: 'k' });

  test('what is sent after a confirmed revocation is refused, unless Redis is unavailable', () => {
    expect(broken([request({ at: 1.05 }), refusedForKey({ at: 1.2 })], { changes: [revoke] })).toEqual([]);
    expect(broken([request({ at: 1.2 })], { changes: [revoke] })).toEqual(['revoked is refused']);
    expect(broken([request({ at: 1.2 })], { changes: [{ ...revoke, outcome: 'unknown' }] })).toEqual([]);
    const unavailable = { outages: [outage(1, 3)], faults: [fault('pause redis', 'redis', 1, 2.9)] };
    expect(broken([request({ at: 1.2 })], { changes: [revoke], ...unavailable })).toEqual([]);
  });

  test('an old key works until the end of its grace period', () => {
    const changes = [change(1, 1.1, { does: 'expire', key: 'k', afterMs: 2000 })];
    expect(broken([request({ at: 3 })], { changes })).toEqual([]);
    expect(broken([request({ at: 4.2 })], { changes })).toEqual(['expired is refused']);
  });

  test('a valid key is accepted', () => {
    expect(broken([refusedForKey({ at: 0.5 })], { changes: [revoke] })).toEqual(['valid is accepted']);
    expect(broken([refusedForKey({ at: 2 }, 'unknown_api_key')], { changes: [revoke] })).toEqual([
      'valid is accepted',
    ]);
  });

  test('keys of a suspended customer are refused, and only these', () => {
    const suspend = change(1, 1.1, { does: 'suspend', owner: 'k' });
    const resume = change(3, 3.1, { does: 'resume', owner: 'k' });
    const suspended = (at: number) => refusedForKey({ at }, 'account_suspended');
    expect(
      broken([request({ at: 1.05 }), suspended(1.2), suspended(3.05)], { changes: [suspend, resume] }),
    ).toEqual([]);
    expect(broken([request({ at: 1.2 })], { changes: [suspend, resume] })).toEqual(['suspended is refused']);
    expect(broken([request({ at: 1.2 })], { changes: [{ ...suspend, outcome: 'unknown' }] })).toEqual([]);
    expect(broken([suspended(3.2)], { changes: [suspend, resume] })).toEqual(['valid is accepted']);
    expect(broken([suspended(0.5)], { changes: [suspend] })).toEqual(['valid is accepted']);
  });

  test('a ban by an operator holds to its end or until it is lifted', () => {
    const ban = change(1, 1.1, { does: 'ban', key: 'k', forMs: 5000 });
    const lift = change(3, 3.1, { does: 'lift', key: 'k' });
    expect(broken([banned({ at: 2, endsAt: 6.05 }), request({ at: 6.2 })], { changes: [ban] })).toEqual([]);
    expect(broken([request({ at: 2 })], { changes: [ban] })).toEqual(['banned is refused']);
    expect(broken([request({ at: 3.05 })], { changes: [ban, lift] })).toEqual([]);
    expect(broken([banned({ at: 4, endsAt: 6.05 })], { changes: [ban, lift] })).toEqual([]);
    expect(broken([banned({ at: 4.5, endsAt: 6.05 })], { changes: [ban, lift] })).toEqual(['lifted is free']);
  });

  test('a ban takes as many strikes as the policy says, after the grace period', () => {
    const strikes = [refused({ at: 4 }), refused({ at: 5 })];
    const ban = banned({ at: 6, endsAt: 66 });
    expect(broken([...three(), ...strikes, ban])).toEqual([]);
    expect(broken([...three(), ...strikes.slice(1), ban])).toEqual(['bans are earned']);
    const policy = { ...history([]).policy, graceSeconds: 3 };
    expect(broken([...three(), ...strikes, ban], { policy })).toEqual(['bans are earned']);
  });

  test('a ban is over after Retry-After', () => {
    const first = [...three(), refused({ at: 4 }), refused({ at: 5 }), banned({ at: 6, endsAt: 9 })];
    expect(broken([...first, banned({ at: 8.9, endsAt: 9 })])).toEqual([]);
    expect(broken([...first, banned({ at: 9.1, endsAt: 9.3 })])).toEqual(['a ban ends with Retry-After']);
    const more = [refused({ at: 9.1 }), refused({ at: 9.2 })];
    expect(broken([...first, ...more, banned({ at: 9.3, endsAt: 15 })])).toEqual([]);
  });
});

describe('responses', () => {
  test('only documented ones are allowed', () => {
    expect(broken([request({ at: 1, status: 413, code: 'payload_too_large' })])).toEqual([]);
    expect(broken([request({ at: 1, status: 500, code: 'internal_error' })])).toEqual([
      'documented responses',
    ]);
    expect(broken([request({ at: 1, status: 404, code: 'gone_fishing' })])).toEqual(['documented responses']);
  });

  test('headers agree', () => {
    const changed = (name: string, value: string) => {
      const one = request({ at: 1 });
      return broken([{ ...one, headers: { ...one.headers, [name]: value } }]);
    };
    expect(changed('x-ratelimit-remaining', '1')).toEqual(['headers agree']);
    expect(changed('x-ratelimit-reset', String(minuteEndMs / 1000 + 3))).toEqual(['headers agree']);
    expect(changed('x-ratelimit-limit', '50')).toEqual(['headers agree']);
    const last = refused({ at: 4 });
    const soon = { ...last, headers: { ...last.headers, 'retry-after': '2' } };
    expect(broken([...three(), soon])).toEqual(['headers agree']);
  });

  test('a refused request is not forwarded, and a create only once', () => {
    const create = request({ at: 1, method: 'POST' });
    expect(broken([create], { forwarded: [create.id] })).toEqual([]);
    expect(broken([create], { forwarded: [create.id, create.id] })).toEqual(['forwarded once']);
    expect(broken([create], { forwarded: [] })).toEqual(['forwarded once']);
    const last = refused({ at: 4 });
    const all = [...three(), last];
    expect(broken(all, { forwarded: all.map(({ id }) => id) })).toEqual(['forwarded once']);
  });

  test('a key that a process has served is served without Redis', () => {
    const without = { outages: [outage(2, 5)], faults: [fault('pause redis', 'redis', 2, 4.9)] };
    const unchecked = refusedForKey({ at: 3 }, 'service_unavailable');
    expect(broken([unchecked], without)).toEqual([]);
    expect(broken([request({ at: 1 }), unchecked], without)).toEqual(['known keys are served']);
  });

  test('errors have a cause, and outages end', () => {
    const failed = request({ at: 5, status: 503, code: 'upstream_unavailable' });
    expect(broken([failed], { faults: [fault('kill upstream', 'upstream', 4, 4.5)] })).toEqual([]);
    expect(broken([failed])).toEqual(['errors have a cause']);
    const lost = request({ at: 5, status: 0, headers: {} });
    expect(broken([lost], { faults: [fault('kill gateway', 'gateway', 5, 6)] })).toEqual([]);
    expect(broken([lost], { faults: [fault('pause gateway', 'gateway', 5, 6)] })).toEqual([
      'errors have a cause',
    ]);
    const paused = [fault('pause redis', 'redis', 4, 5)];
    expect(broken([], { faults: paused, outages: [outage(4.1, 7)] })).toEqual([]);
    expect(broken([], { faults: paused, outages: [outage(4.1, 16)] })).toEqual(['outages end']);
  });
});

describe('record of use', () => {
  const use = (served: number, refused = 1) => ({ use: { k: { served, refused } } });
  const requests = () => [...three(), refused({ at: 4 })];

  test('has what was served and refused', () => {
    expect(broken(requests(), use(3))).toEqual([]);
    expect(broken(requests(), use(2))).toEqual(['use is recorded']);
    expect(broken(requests(), use(4))).toEqual(['use is recorded']);
    expect(broken(requests(), use(3, 0))).toEqual(['use is recorded']);
  });

  test('may have twice what was in flight when Redis was given up, and lacks what a killed process had', () => {
    const begins = { outages: [outage(3.1, 6)], faults: [fault('pause redis', 'redis', 3, 5.9)] };
    expect(broken(three(), { ...begins, ...use(4, 0) })).toEqual([]);
    expect(broken(three(), { ...begins, ...use(6, 0) })).toEqual(['use is recorded']);
    const killed = [{ gateway: 0, startMs: startMs - 5000, endMs: startMs + 5500, killed: true }];
    expect(broken(three(), { ...begins, lives: killed, ...use(2, 0) })).toEqual([]);
    expect(broken(three(), { ...begins, lives: killed, ...use(1, 0) })).toEqual(['use is recorded']);
  });
});

test('every promise names its clause', () => {
  const documents = /specification|CLIENTS\.md|guide\.md|OPERATE\.md|RUNBOOK\.md|RECEIVING\.md/;
  expect(Object.entries(promises).filter(([, [clause]]) => !documents.test(clause))).toEqual([]);
});
