import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { FleetGateway, FleetProcess } from '../../../../../gateway/operations/fleet-status.ts';
import { findProblems } from '../../../../../gateway/operations/problems/find-problems.ts';
import type { LiveFacts } from '../../../../../gateway/operations/problems/live-facts.ts';
import type { Problem } from '../../../../../gateway/operations/problems/problem.ts';
import { summarizeProblems } from '../../../../../gateway/operations/problems/summarize-problems.ts';
import type { RedisServerStatus } from '../../../../../gateway/operations/redis-status.ts';
import type { TrafficPoint } from '../../../../../gateway/operations/traffic.ts';

const nowMs = Date.UTC(2026, 10, 23, 12);
const ago = (seconds: number) => new Date(nowMs - seconds * 1000).toISOString();

const fleetProcess = (changes: Partial<FleetProcess> = {}): FleetProcess => ({
  id: 'process',
  worker: null,
  pid: 1,
  version: '1.0.0',
  startedAt: ago(3600),
  state: 'ok',
  services: {},
  invalidSettings: [],
  redisEmptied: false,
  localMode: null,
  earlierLocalModes: [],
  recent: { redisP99Ms: null, upstreamP99Ms: null, errors: {} },
  connections: 0,
  busy: 0,
  rssBytes: 1,
  keysInUse: {},
  counts: {},
  seenAtMs: nowMs,
  ...changes,
});

const gateway = (changes: Partial<FleetGateway> = {}): FleetGateway => ({
  id: 'gateway',
  host: 'gw-1',
  adminAddress: '10.0.0.1:9090',
  startedAt: ago(3600),
  workers: 1,
  version: '1.0.0',
  state: 'ok',
  processes: [fleetProcess()],
  restartedAt: [],
  ...changes,
});

const redisServer = (changes: Partial<RedisServerStatus> = {}): RedisServerStatus => ({
  address: 'redis:6379',
  version: '7.0.15',
  role: 'master',
  uptimeSeconds: 100,
  memory: { usedBytes: 10, limitBytes: 100 },
  appendOnly: true,
  evictedKeys: 0,
  connectedClients: 1,
  connectedReplicas: 0,
  latencyMs: 0.2,
  ...changes,
});

const nothing = {
  requests: 0,
  byStatus: {},
  refusals: { minute: 0, day: 0 },
  bans: 0,
  bannedRequests: 0,
  localDecisions: 0,
};

const minute = (changes: Partial<TrafficPoint> = {}, p99 = 10): TrafficPoint => ({
  at: ago(0),
  seconds: 60,
  ...nothing,
  requests: 1000,
  byStatus: { '2xx': 1000 },
  byPlan: {},
  latencyMs: { served: { p50: 1, p90: 5, p99 }, all: null },
  ...changes,
});
const hour = (last: readonly TrafficPoint[] = []) => [
  ...Array.from({ length: 60 - last.length }, () => minute()),
  ...last,
];

const facts = ({
  fleet = {},
  ...changes
}: Partial<Omit<LiveFacts, 'fleet'>> & { fleet?: Partial<LiveFacts['fleet']> } = {}): LiveFacts => ({
  nowMs,
  redis: { available: true, servers: [redisServer()] },
  redisIsPrivate: false,
  upstreams: [
    { upstream: 'http://pets:3001', service: 'pets-service', state: 'ready', seenAs: { ready: 1 } },
  ],
  lastHour: hour(),
  perSecond: undefined,
  busiestAddresses: [],
  endedKeys: [],
  disagreeingSince: new Map(),
  ...changes,
  fleet: {
    atMs: nowMs,
    gateways: [gateway()],
    activeBans: 0,
    withoutStatus: [],
    disagreements: [],
    invalidSettings: [],
    ...fleet,
  },
});

const found = (given: Parameters<typeof facts>[0]) => findProblems(facts(given));
const withGateway = (changes: Partial<FleetGateway>) => found({ fleet: { gateways: [gateway(changes)] } });
const withProcess = (changes: Partial<FleetProcess>) => withGateway({ processes: [fleetProcess(changes)] });
const withRedis = (changes: Partial<RedisServerStatus>) =>
  found({ redis: { available: true, servers: [redisServer(changes)] } });

test('a fleet in which all is well has no problems', () => {
  expect(findProblems(facts())).toEqual([]);
});

test('one stall of Redis is one notice, however many processes it hit', () => {
  const processes = (count: number, localMode: FleetProcess['localMode']) =>
    Array.from({ length: count }, (_, index) =>
      fleetProcess({ id: `${index}`, worker: index + 1, localMode }),
    );
  const stall = { from: ago(72), to: ago(60) };
  const gateways = [
    gateway({ workers: 4, processes: processes(4, stall) }),
    gateway({
      id: 'other',
      host: 'gw-2',
      processes: [fleetProcess({ localMode: { from: ago(61), to: ago(59) } })],
    }),
    gateway({
      id: 'later',
      host: 'gw-3',
      processes: [fleetProcess({ localMode: { from: ago(20), to: ago(18) } })],
    }),
  ];
  expect(found({ fleet: { gateways } })).toMatchObject([
    {
      title: '2 gateways were without Redis',
      detail: expect.stringMatching(/^For 13 s, .* 5 processes of gw-1 .*, gw-2 /) as string,
    },
    { title: 'Gateway gw-3 (10.0.0.1:9090) was without Redis' },
  ]);
  const lasting = gateway({ workers: 4, processes: processes(3, { from: ago(9), to: null }) });
  expect(
    withGateway({
      ...lasting,
      processes: [...lasting.processes, fleetProcess({ localMode: { from: ago(9), to: ago(3) } })],
    }),
  ).toMatchObject([
    {
      severity: 'critical',
      title: 'Gateway gw-1 (10.0.0.1:9090) works without Redis',
      detail: expect.stringContaining('3 processes') as string,
    },
  ]);
});

test('stalls of Redis that hit the same gateways are one problem with a count, and over some minutes later', () => {
  const stall = (from: number, to: number) => ({ from: ago(from), to: ago(to) });
  const flapping = (localMode: FleetProcess['localMode']) => ({
    localMode,
    earlierLocalModes: [stall(600, 595), stall(500, 490)],
  });
  expect(withProcess(flapping(stall(60, 50)))).toMatchObject([
    {
      severity: 'warning',
      title: 'Gateway gw-1 (10.0.0.1:9090) was without Redis 3 times',
      detail: expect.stringContaining(`It was the third time since ${ago(600)}, 25 s in all.`) as string,
    },
  ]);
  expect(withProcess(flapping(stall(400, 390)))).toMatchObject([{ severity: 'notice', past: true }]);
  expect(withProcess(flapping({ from: ago(9), to: null }))).toMatchObject([
    { severity: 'critical', detail: expect.stringContaining('It was the third time') as string },
  ]);
  const unavailable = found({
    redis: { available: false, since: ago(5) },
    fleet: { gateways: [gateway({ processes: [fleetProcess(flapping({ from: ago(5), to: null }))] })] },
  });
  expect(unavailable).toMatchObject([
    { id: 'redis-unavailable', detail: expect.stringContaining(`gone 3 times since ${ago(600)}`) as string },
  ]);
});

function headingsOf(document: string): string[] {
  const text = readFileSync(
    join(fileURLToPath(new URL('../../../../..', import.meta.url)), document),
    'utf8',
  );
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) => heading);
}

/** One of each kind. */
const kinds: Record<string, { problems: Problem[]; severity: Problem['severity']; says: string }> = {
  'Redis is unavailable': {
    problems: found({ redis: { available: false, since: ago(5) } }),
    severity: 'critical',
    says: ago(5),
  },
  'Redis came back empty': {
    problems: withProcess({ redisEmptied: true }),
    severity: 'critical',
    says: 'gw:set-up',
  },
  'Redis is nearly full': {
    problems: withRedis({ memory: { usedBytes: 91, limitBytes: 100 } }),
    severity: 'warning',
    says: '91 % of its memory',
  },
  'Redis has evicted keys': { problems: withRedis({ evictedKeys: 7 }), severity: 'critical', says: '7 keys' },
  'Redis keeps no append-only file': {
    problems: withRedis({ appendOnly: false }),
    severity: 'warning',
    says: 'appendonly of redis:6379 is off',
  },
  'Redis is embedded and in memory only': {
    problems: found({
      redis: { available: true, servers: [redisServer({ appendOnly: false })] },
      redisIsPrivate: true,
    }),
    severity: 'notice',
    says: 'lost when the gateway stops',
  },
  'Redis is slow': {
    problems: withProcess({ recent: { redisP99Ms: 40, upstreamP99Ms: 250, errors: {} } }),
    severity: 'warning',
    says: '40 ms',
  },
  'A service behind the gateway is slow': {
    problems: withProcess({ recent: { redisP99Ms: 25, upstreamP99Ms: 400, errors: {} } }),
    severity: 'warning',
    says: '400 ms',
  },
  'No instance of pets-service is ready': {
    problems: found({
      upstreams: [
        { upstream: 'http://pets:3001', service: 'pets-service', state: 'down', seenAs: { down: 1 } },
      ],
    }),
    severity: 'critical',
    says: 'http://pets:3001 is down and ejected',
  },
  'No instance of orders is ready': {
    problems: found({
      upstreams: [
        { upstream: 'http://pets:3001', service: 'pets-service', state: 'ready', seenAs: { ready: 1 } },
        { upstream: 'http://orders:3003', service: 'orders', state: 'down', seenAs: { down: 1 } },
      ],
    }),
    severity: 'critical',
    says: 'http://orders:3003 is down and ejected',
  },
  'Upstream http://b:3001 is down and ejected': {
    problems: found({
      upstreams: [
        { upstream: 'http://a:3001', service: 'pets-service', state: 'ready', seenAs: { ready: 3 } },
        { upstream: 'http://b:3001', service: 'pets-service', state: 'down', seenAs: { ready: 1, down: 2 } },
      ],
    }),
    severity: 'warning',
    says: '2 of 3 gateway processes',
  },
  'No gateway is running': {
    problems: found({ fleet: { gateways: [] } }),
    severity: 'critical',
    says: 'on this Redis',
  },
  'Gateway gw-1 (10.0.0.1:9090) is not seen': {
    problems: found({
      fleet: {
        gateways: [
          gateway({ id: 'other', host: 'gw-2' }),
          gateway({
            state: 'not_seen',
            processes: [fleetProcess({ state: 'not_seen', seenAtMs: nowMs - 12_000 })],
          }),
        ],
      },
    }),
    severity: 'warning',
    says: '12 s ago',
  },
  'Gateway gw-1 (10.0.0.1:9090) runs 1 of 2 workers': {
    problems: withGateway({ state: 'incomplete', workers: 2 }),
    severity: 'warning',
    says: 'hang, or cannot start',
  },
  'Gateway gw-1 (10.0.0.1:9090) works without Redis': {
    problems: withProcess({ localMode: { from: ago(9), to: null } }),
    severity: 'critical',
    says: ago(9),
  },
  'Gateway gw-1 (10.0.0.1:9090) was without Redis': {
    problems: withProcess({ localMode: { from: ago(72), to: ago(60) } }),
    severity: 'notice',
    says: 'For 12 s',
  },
  'A gateway ended unexpectedly, and was started again': {
    problems: withGateway({ crashedAt: ago(40) }),
    severity: 'notice',
    says: ago(40),
  },
  'Workers exit or hang': {
    problems: withGateway({ restartedAt: [ago(30), ago(20), ago(10)] }),
    severity: 'warning',
    says: '3 workers in 15 minutes',
  },
  'A worker was restarted': {
    problems: withGateway({ restartedAt: [ago(10)] }),
    severity: 'notice',
    says: ago(10),
  },
  'The setting gw:plan:pro in Redis is invalid': {
    problems: found({
      fleet: {
        invalidSettings: [
          {
            key: 'gw:plan:pro',
            issues: ['minute is not a whole number from 1 to 1000000000'],
            stored: { minute: 'plenty', day: '10000' },
            processes: 1,
            withoutValues: 0,
          },
        ],
      },
    }),
    severity: 'warning',
    says: 'it is "plenty". 1 gateway process reports it. The last valid values stay in force.',
  },
  'The setting gw:plan:gold in Redis is invalid': {
    problems: found({
      fleet: {
        invalidSettings: [
          { key: 'gw:plan:gold', issues: ['minute is missing'], stored: {}, processes: 2, withoutValues: 2 },
        ],
      },
    }),
    severity: 'critical',
    says: 'Of these, 2 have no values: API keys that need them get 503.',
  },
  'Gateways enforce different values of gw:plan:pro': {
    problems: found({
      disagreeingSince: new Map([['gw:plan:pro', nowMs - 6000]]),
      fleet: {
        disagreements: [
          {
            key: 'gw:plan:pro',
            values: [
              { fields: { minute: '300' }, processes: 2 },
              { fields: { minute: '600' }, processes: 1 },
            ],
          },
        ],
      },
    }),
    severity: 'warning',
    says: '2 processes have minute 300; 1 process has minute 600',
  },
  'A key of Acme is used after its end': {
    problems: found({ endedKeys: [{ id: 'key_1', name: 'Acme', requests: 40 }] }),
    severity: 'notice',
    says: '40 requests with it were refused in the last minute',
  },
  'Redis lacks settings': {
    problems: found({
      fleet: {
        invalidSettings: ['gw:plan:free', 'gw:ban-policy'].map((key) => ({
          key,
          issues: ['minute is missing'],
          stored: {},
          processes: 1,
          withoutValues: 0,
        })),
      },
    }),
    severity: 'warning',
    says: 'There is nothing in gw:plan:free, gw:ban-policy.',
  },
  'Two versions are running': {
    problems: found({ fleet: { withoutStatus: [{ id: 'older', seenAtMs: nowMs }] } }),
    severity: 'notice',
    says: 'without a status (older version)',
  },
  'Many requests fail': {
    problems: found({
      lastHour: hour([minute({ requests: 1000, byStatus: { '2xx': 900, '5xx': 90, cut_off: 10 } })]),
    }),
    severity: 'critical',
    says: '2 % of the requests of the last 5 minutes',
  },
  'Requests are slow': {
    problems: found({ lastHour: hour([minute({}, 400)]) }),
    severity: 'warning',
    says: '400 ms',
  },
  'Many customers of the plan free are refused': {
    problems: withProcess({ keysInUse: { free: { active: 40, refused: 12 } } }),
    severity: 'warning',
    says: '30 % of its API keys',
  },
  'Many keys are being banned': {
    problems: found({ lastHour: hour([minute({ bans: 12 })]) }),
    severity: 'warning',
    says: '12 bans',
  },
};

describe.each(Object.entries(kinds))('"%s"', (title, { problems, severity, says }) => {
  test('is found, says what and what to do', () => {
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ title, severity });
    expect(problems[0]?.detail).toContain(says);
    expect(problems[0]?.advice).not.toBe('');
  });

  test('leads to a page of the console, or to a heading that there is', () => {
    const link = problems[0]?.link;
    const leads =
      link !== undefined &&
      ('page' in link ? link.page.startsWith('/console/') : headingsOf(link.document).includes(link.heading));
    expect(leads).toBe(true);
  });
});

test('the most severe problem is the first', () => {
  const problems = found({
    redis: { available: true, servers: [redisServer({ evictedKeys: 1, appendOnly: false })] },
    fleet: { gateways: [gateway({ restartedAt: [ago(10)] })] },
  });
  expect(problems.map(({ severity }) => severity)).toEqual(['critical', 'warning', 'notice']);
});

/** Refused requests a second of addresses. */
const flood = (unauthenticated: number, limited: number, blockedRequests = 0) => {
  const refused = { ...nothing, refusals: { minute: limited, day: 0 }, unauthenticated, blockedRequests };
  return { ...refused, byPlan: { anonymous: refused }, latencyMs: { served: null, all: null } };
};

describe('a flood without keys', () => {
  const busy = (address: string, refused: number, blockedUntil: string | null = null) => ({
    address,
    refused,
    unauthenticated: refused,
    limited: 0,
    blocked: 0,
    blockedUntil,
  });

  test('names the busiest address that is not blocked, and leads to the page that blocks it', () => {
    const [problem] = found({
      perSecond: flood(1, 60),
      busiestAddresses: [busy('198.51.100.1', 9000, ago(-60)), busy('203.0.113.7', 3540)],
    });
    expect(problem).toMatchObject({
      id: 'flood',
      severity: 'warning',
      detail:
        '61 requests a second have no valid key. Most come from 203.0.113.7: 3540 in the last 20 seconds.',
      link: { page: '/console/addresses' },
    });
  });

  test('is a problem without knowing the address', () => {
    const [problem] = found({ perSecond: flood(11, 0) });
    expect(problem?.detail).toBe('11 requests a second have no valid key.');
  });
});

test('the state is a sentence: counts by severity, and well if there is nothing to do', () => {
  const sentence = (...given: Problem['severity'][]) =>
    summarizeProblems(given.map((severity) => ({ severity })));
  expect(sentence()).toBe('All is well.');
  expect(sentence('notice', 'notice')).toBe('All is well; 2 notices.');
  expect(sentence('critical', 'warning', 'warning', 'notice')).toBe(
    '1 critical problem, 2 warnings, 1 notice.',
  );
});

describe('no problem is', () => {
  test.each([
    [
      'a setting that was changed a second ago',
      {
        disagreeingSince: new Map([['gw:plan:pro', nowMs - 1000]]),
        fleet: { disagreements: [{ key: 'gw:plan:pro', values: [] }] },
      },
    ],
    ['a few failed requests', { lastHour: hour([minute({ byStatus: { '2xx': 100, '5xx': 9 } })]) }],
    ['ten requests a second without a valid key', { perSecond: flood(4, 6) }],
    ['a flood of blocked addresses', { perSecond: flood(1, 0, 500) }],
    ['a slow request among few', { lastHour: hour([minute({ requests: 5 }, 900)]) }],
    ['a p99 that was always high', { lastHour: Array.from({ length: 60 }, () => minute({}, 900)) }],
    ['a first minute without an hour to compare', { lastHour: [minute({}, 900)] }],
    [
      'a Redis that does not tell',
      {
        redis: {
          available: true,
          servers: [redisServer({ memory: null, appendOnly: null, evictedKeys: null, latencyMs: null })],
        },
      },
    ],
  ] satisfies [string, Parameters<typeof facts>[0]][])('%s', (_, given) => {
    expect(found(given)).toEqual([]);
  });

  test('a gateway that others cannot see while Redis is unavailable', () => {
    const problems = found({
      redis: { available: false, since: ago(20) },
      fleet: { gateways: [gateway({ state: 'not_seen', processes: [] })] },
    });
    expect(problems.map(({ id }) => id)).toEqual(['redis-unavailable']);
  });
});
