import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { findProblems, type Facts } from '../../../../../gateway/control/status/find-problems.ts';
import { summarizeProblems } from '../../../../../gateway/control/status/fleet-report.ts';
import type { FleetGateway, FleetProcess } from '../../../../../gateway/control/status/fleet-status.ts';
import type { Problem } from '../../../../../gateway/control/status/problem.ts';
import type { RedisServerStatus } from '../../../../../gateway/control/status/redis-status.ts';

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
  recent: {
    byStatus: {},
    refused: {},
    unauthenticated: 0,
    bans: 0,
    durations: {},
    redisP99Ms: null,
    upstreamP99Ms: null,
    errors: {},
  },
  connections: 0,
  busy: 0,
  rssBytes: 1,
  seenAt: new Date(nowMs).toISOString(),
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

const recent = (changes: Partial<Facts['recent']> = {}): Facts['recent'] => ({
  requests: 1000,
  byStatus: { '2xx': 1000 },
  refused: 0,
  withoutKey: 0,
  bans: 0,
  latencyMs: { p50: 1, p99: 10 },
  redisP99Ms: 1,
  upstreamP99Ms: 5,
  errors: {},
  ...changes,
});

/** Ready if no process sees it as down. */
const upstream = (
  address: string,
  service: string,
  seenAs: { ready?: number; down?: number },
): Facts['upstreams'][number] => ({
  upstream: address,
  service,
  state: seenAs.down === undefined ? 'ready' : 'down',
  seenAs,
});

const facts = ({
  fleet = {},
  ...changes
}: Partial<Omit<Facts, 'fleet'>> & { fleet?: Partial<Facts['fleet']> } = {}): Facts => ({
  redis: { available: true, servers: [redisServer()] },
  redisIsPrivate: false,
  upstreams: [upstream('http://pets:3001', 'pets-service', { ready: 1 })],
  recent: recent(),
  ...changes,
  fleet: {
    atMs: nowMs,
    gateways: [gateway()],
    activeBans: 0,
    invalidSettings: [],
    disabledWebhooks: [],
    ...fleet,
  },
});

const found = (given: Parameters<typeof facts>[0]) => findProblems(facts(given));
const withGateway = (changes: Partial<FleetGateway>) => found({ fleet: { gateways: [gateway(changes)] } });
const withRedis = (changes: Partial<RedisServerStatus>) =>
  found({ redis: { available: true, servers: [redisServer(changes)] } });

test('a fleet in which all is well has no problems', () => {
  expect(findProblems(facts())).toEqual([]);
});

test('one stall of Redis is one notice, however many gateways and processes it hit', () => {
  const processes = (count: number, localMode: FleetProcess['localMode']) =>
    Array.from({ length: count }, (_, index) =>
      fleetProcess({ id: `${index}`, worker: index + 1, localMode }),
    );
  const gateways = [
    gateway({ workers: 4, processes: processes(4, { from: ago(72), to: ago(60) }) }),
    gateway({
      id: 'other',
      host: 'gw-2',
      processes: [fleetProcess({ localMode: { from: ago(61), to: ago(59) } })],
    }),
    gateway({
      id: 'long ago',
      host: 'gw-3',
      processes: [fleetProcess({ localMode: { from: ago(1000), to: ago(950) } })],
    }),
  ];
  const [problem, ...others] = found({ fleet: { gateways } });
  expect(others).toEqual([]);
  expect(problem).toMatchObject({ severity: 'notice', title: 'Gateways were without Redis' });
  expect(problem?.detail).toContain(
    `gw-1 (10.0.0.1:9090), gw-2 (10.0.0.1:9090): from ${ago(72)}, until ${ago(59)}.`,
  );
  const lasting = [
    ...processes(3, { from: ago(9), to: null }),
    ...processes(1, { from: ago(9), to: ago(3) }),
  ];
  expect(withGateway({ workers: 4, processes: lasting })).toMatchObject([
    { severity: 'critical', detail: expect.stringContaining(`from ${ago(9)}, which goes on.`) as string },
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
const invalidSettings = [
  {
    key: 'gw:plan:pro',
    issues: ['minute is not a whole number from 1 to 1000000000'],
    stored: { minute: 'plenty', day: '10000' },
    processes: 1,
    withoutValues: 0,
  },
];

const kinds: [title: string, Problem['severity'], says: string, Problem[]][] = [
  ['Redis is unavailable', 'critical', ago(5), found({ redis: { available: false, since: ago(5) } })],
  [
    'Redis came back empty',
    'critical',
    'gw:set-up', // Its settings are gone, too.
    found({
      fleet: { gateways: [gateway({ processes: [fleetProcess({ redisEmptied: true })] })], invalidSettings },
    }),
  ],
  [
    'Redis is nearly full',
    'warning',
    '91 % of its memory',
    withRedis({ memory: { usedBytes: 91, limitBytes: 100 } }),
  ],
  ['Redis has evicted keys', 'critical', '7 keys', withRedis({ evictedKeys: 7 })],
  [
    'Redis keeps no append-only file',
    'warning',
    'redis:6379 has appendonly off',
    withRedis({ appendOnly: false }),
  ],
  ['Redis is slow', 'warning', '40 ms', found({ recent: recent({ redisP99Ms: 40 }) })],
  ['Redis is read only', 'critical', 'redis:6379 is a replica', withRedis({ role: 'slave' })],
  [
    'No instance of pets-service is ready',
    'critical',
    'http://pets:3001 is down and ejected',
    found({
      upstreams: [upstream('http://pets:3001', 'pets-service', { down: 1 })],
    }),
  ],
  [
    'No instance of orders is ready',
    'critical',
    'http://orders:3003 is down and ejected',
    found({
      upstreams: [
        upstream('http://pets:3001', 'pets-service', { ready: 1 }),
        upstream('http://orders:3003', 'orders', { down: 1 }),
      ],
    }),
  ],
  [
    'Upstream http://b:3001 is down and ejected',
    'warning',
    'for 2 gateway processes',
    found({
      upstreams: [
        upstream('http://a:3001', 'pets-service', { ready: 3 }),
        upstream('http://b:3001', 'pets-service', { ready: 1, down: 2 }),
      ],
    }),
  ],
  ['No gateway is running', 'critical', 'on this Redis', found({ fleet: { gateways: [] } })],
  [
    'Gateway gw-1 (10.0.0.1:9090) is not seen',
    'warning',
    '12 s ago',
    found({
      fleet: {
        gateways: [
          gateway({ id: 'other', host: 'gw-2' }),
          gateway({
            state: 'not_seen',
            processes: [fleetProcess({ state: 'not_seen', seenAt: new Date(nowMs - 12_000).toISOString() })],
          }),
        ],
      },
    }),
  ],
  [
    'Gateway gw-1 (10.0.0.1:9090) runs 1 of 2 workers',
    'warning',
    'hang, or cannot start',
    withGateway({ state: 'incomplete', workers: 2 }),
  ],
  [
    'Workers exit or hang',
    'warning',
    '3 workers in 15 minutes',
    withGateway({ restartedAt: [ago(30), ago(20), ago(10)] }),
  ],
  [
    'The setting gw:plan:pro in Redis is invalid',
    'warning',
    'it is "plenty". 1 gateway process keeps the last valid values.',
    found({ fleet: { invalidSettings } }),
  ],
  [
    'The setting gw:plan:gold in Redis is invalid',
    'critical',
    '2 of 2 gateway processes have no values: API keys that need them get 503.',
    found({
      fleet: {
        invalidSettings: [
          { key: 'gw:plan:gold', issues: ['minute is missing'], stored: {}, processes: 2, withoutValues: 2 },
        ],
      },
    }),
  ],
  [
    'A webhook is disabled',
    'warning',
    'wh_1 gets no events any more: every attempt has failed for 24 hours.',
    found({
      fleet: { disabledWebhooks: [{ id: 'wh_1', disabledBecause: 'every attempt has failed for 24 hours' }] },
    }),
  ],
  [
    'Many requests fail',
    'critical',
    '2 % of the requests of the last minute',
    found({ recent: recent({ byStatus: { '2xx': 4900, '5xx': 90, cut_off: 10 } }) }),
  ],
  ['Requests are slow', 'warning', '400 ms', found({ recent: recent({ latencyMs: { p50: 1, p99: 400 } }) })],
  [
    'Many requests are refused',
    'notice',
    '33.3 % of the requests with a valid key got 429',
    found({ recent: recent({ refused: 300, withoutKey: 100 }) }),
  ],
  [
    'Many requests without a valid key are refused',
    'warning',
    '11 requests a second had no valid key',
    found({ recent: recent({ withoutKey: 660 }) }),
  ],
  ['Many keys are being banned', 'warning', '12 bans', found({ recent: recent({ bans: 12 }) })],
];

describe.each(kinds)('"%s"', (title, severity, says, problems) => {
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

test('a private Redis in memory only is for information', () => {
  const problems = found({
    redis: { available: true, servers: [redisServer({ appendOnly: false })] },
    redisIsPrivate: true,
  });
  expect(problems).toMatchObject([{ severity: 'notice', title: 'Redis keeps no append-only file' }]);
});

test('the most severe problem is the first', () => {
  const problems = found({
    redis: { available: true, servers: [redisServer({ evictedKeys: 1, appendOnly: false })] },
    fleet: { gateways: [gateway({ restartedAt: [ago(10)] })] },
  });
  expect(problems.map(({ severity }) => severity)).toEqual(['critical', 'warning', 'notice']);
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
    ['a few failed requests', { recent: recent({ byStatus: { '2xx': 100, '5xx': 9 } }) }],
    ['ten requests a second without a valid key', { recent: recent({ withoutKey: 600 }) }],
    ['a slow request among few', { recent: recent({ requests: 5, latencyMs: { p50: 1, p99: 900 } }) }],
    [
      'a minute without requests',
      { recent: recent({ requests: 0, byStatus: {}, latencyMs: null, redisP99Ms: null }) },
    ],
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
