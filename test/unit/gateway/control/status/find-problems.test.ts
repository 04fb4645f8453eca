import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findProblems, type Facts } from '../../../../../gateway/control/status/find-problems.ts';
import { combineUpstreams } from '../../../../../gateway/control/status/fleet-measures.ts';
import { summarizeProblems } from '../../../../../gateway/control/status/fleet-report.ts';
import type { FleetGateway, FleetProcess } from '../../../../../gateway/control/status/fleet-status.ts';
import type { Problem } from '../../../../../gateway/control/status/problem.ts';
import type { RedisServerStatus } from '../../../../../gateway/control/status/redis-status.ts';

const nowMs = Date.UTC(2026, 10, 23, 12);
const ago = (seconds: number) => new Date(nowMs - seconds * 1000).toISOString();

const noCounts = { byStatus: {}, refused: {}, unauthenticated: 0, bans: 0, errors: {} };
const noTimes = { durations: {}, redisP99Ms: null, upstreamP99Ms: null };
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
  recent: { ...noCounts, ...noTimes },
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
  memory: { usedBytes: 10, limitBytes: 100 },
  appendOnly: true,
  evictedKeys: 0,
  connectedReplicas: 0,
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
  redis: [redisServer()],
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
const withGateway = (changes: Partial<FleetGateway>) => ({ fleet: { gateways: [gateway(changes)] } });
const withServer = (changes: Partial<RedisServerStatus>) => ({ redis: [redisServer(changes)] });

test('a fleet in which all is well has no problems', () => {
  expect(findProblems(facts())).toEqual([]);
});

test('one stall of Redis is one notice, however many gateways and processes it hit', () => {
  const processes = (count: number, localMode: FleetProcess['localMode']) =>
    Array.from({ length: count }, (_, index) =>
      fleetProcess({ id: `${index}`, worker: index + 1, localMode }),
    );
  const between = (from: number, to: number | null) => ({
    from: ago(from),
    to: to === null ? null : ago(to),
  });
  const gateways = [
    gateway({ workers: 4, processes: processes(4, between(72, 60)) }),
    gateway({ id: 'other', host: 'gw-2', processes: processes(1, between(61, 59)) }),
    gateway({ id: 'long ago', host: 'gw-3', processes: processes(1, between(1000, 950)) }),
  ];
  const [problem, ...others] = found({ fleet: { gateways } });
  expect(others).toEqual([]);
  expect(problem).toMatchObject({ severity: 'notice', title: 'Gateways were without Redis' });
  expect(problem?.detail).toContain(
    `gw-1 (10.0.0.1:9090), gw-2 (10.0.0.1:9090): from ${ago(72)}, until ${ago(59)}.`,
  );
  const lasting = [...processes(3, between(9, null)), ...processes(1, between(9, 3))];
  expect(found(withGateway({ workers: 4, processes: lasting }))).toMatchObject([
    { severity: 'critical', detail: expect.stringContaining(`from ${ago(9)}, which goes on.`) as string },
  ]);
});

const root = new URL('../../../../../', import.meta.url);
const headingsOf = (document: string) =>
  Array.from(
    readFileSync(new URL(document, root), 'utf8').matchAll(/^#+ (.+)$/gm),
    ([, heading = '']) => heading,
  );

const invalid = (key: string, stored: object, processes: number, withoutValues: number): Given => {
  const issues = ['minute is not a whole number from 1 to 1000000000'];
  return { fleet: { invalidSettings: [{ key, issues, stored: { ...stored }, processes, withoutValues }] } };
};

const pets = upstream('http://pets:3001', 'pets-service', { ready: 1 });
const instances = (...upstreams: Facts['upstreams']): Given => ({ upstreams });
const petsDown = instances(upstream('http://pets:3001', 'pets-service', { down: 1 }));
const ordersDown = instances(pets, upstream('http://orders:3003', 'orders', { down: 1 }));
const onePetsDown = instances(
  upstream('http://a:3001', 'pets-service', { ready: 3 }),
  upstream('http://b:3001', 'pets-service', { ready: 1, down: 2 }),
);

const invalidPro = invalid('gw:plan:pro', { minute: 'plenty', day: '10000' }, 1, 0);
const emptied = { gateways: [gateway({ processes: [fleetProcess({ redisEmptied: true })] })] };
const notSeen = fleetProcess({ state: 'not_seen', seenAt: ago(12) });
const oneNotSeen = [
  gateway({ id: 'other', host: 'gw-2' }),
  gateway({ state: 'not_seen', processes: [notSeen] }),
];
const inLastMinute = (changes: Parameters<typeof recent>[0]): Given => ({ recent: recent(changes) });
const failing = inLastMinute({ byStatus: { '2xx': 4900, '5xx': 90, cut_off: 10 } });
const disabledBecause = 'every attempt has failed for 24 hours';
const disabled = { fleet: { disabledWebhooks: [{ id: 'wh_1', disabledBecause }] } };
const noLimits = '2 of 2 gateway processes have no values: API keys that need them get 503.';

type Given = Parameters<typeof facts>[0];
/** One of each kind: title, what its detail says, and facts. */
const kinds: Record<Problem['severity'], [title: string, says: string, given: Given][]> = {
  critical: [
    // Its settings are gone, too.
    ['Redis came back empty', 'gw:set-up', { fleet: { ...emptied, ...invalidPro?.fleet } }],
    ['Redis has evicted keys', '7 keys', withServer({ evictedKeys: 7 })],
    ['Redis is read only', 'redis:6379 is a replica', withServer({ role: 'slave' })],
    ['No instance of pets-service is ready', 'http://pets:3001 is down and ejected', petsDown],
    ['No instance of orders is ready', 'http://orders:3003 is down and ejected', ordersDown],
    ['No gateway is running', 'on this Redis', { fleet: { gateways: [] } }],
    ['The setting gw:plan:gold in Redis is invalid', noLimits, invalid('gw:plan:gold', {}, 2, 2)],
    ['Many requests fail', '2 % of the requests of the last minute', failing],
  ],
  warning: [
    [
      'Redis is nearly full',
      '91 % of its memory',
      withServer({ memory: { usedBytes: 91, limitBytes: 100 } }),
    ],
    ['Redis keeps no append-only file', 'redis:6379 has appendonly off', withServer({ appendOnly: false })],
    ['Redis is slow', '40 ms', inLastMinute({ redisP99Ms: 40 })],
    ['Upstream http://b:3001 is down and ejected', 'for 2 gateway processes', onePetsDown],
    ['Gateway gw-1 (10.0.0.1:9090) is not seen', '12 s ago', { fleet: { gateways: oneNotSeen } }],
    [
      'Gateway gw-1 (10.0.0.1:9090) runs 1 of 2 workers',
      'hang, or cannot start',
      withGateway({ state: 'incomplete', workers: 2 }),
    ],
    [
      'Workers exit or hang',
      '3 workers in 15 minutes',
      withGateway({ restartedAt: [ago(30), ago(20), ago(10)] }),
    ],
    [
      'The setting gw:plan:pro in Redis is invalid',
      'it is "plenty". 1 gateway process keeps the last valid values.',
      invalidPro,
    ],
    ['A webhook is disabled', `wh_1 gets no events any more: ${disabledBecause}.`, disabled],
    ['Requests are slow', '400 ms', inLastMinute({ latencyMs: { p50: 1, p99: 400 } })],
    [
      'Many requests without a valid key are refused',
      '11 requests a second had no valid key',
      inLastMinute({ withoutKey: 660 }),
    ],
    ['Many keys are being banned', '12 bans', inLastMinute({ bans: 12 })],
  ],
  notice: [
    [
      'Many requests are refused',
      '33.3 % of the requests with a valid key got 429',
      inLastMinute({ refused: 300, withoutKey: 100 }),
    ],
  ],
};

const rows = Object.entries(kinds).flatMap(([severity, of]) =>
  of.map(([title, says, given]) => ({ title, severity, says, given })),
);

test.each(rows)('"$title" is found, says what and what to do, and leads to where there is more', (row) => {
  const { title, severity, says, given } = row;
  const [problem, ...others] = found(given);
  expect(others).toEqual([]);
  expect(problem).toMatchObject({ title, severity, detail: expect.stringContaining(says) as string });
  expect(problem?.advice).not.toBe('');
  const { page, document, heading = '' } = problem?.link ?? {};
  expect(page).toMatch(/^\/console\//);
  expect(document === undefined ? [''] : headingsOf(document)).toContain(heading);
});

test('two services at one origin are two problems, each seen by one process', () => {
  const services = { alpha: { 'http://a:1': 'down' }, beta: { 'http://a:1': 'down' } } as const;
  const upstreams = combineUpstreams([gateway({ processes: [fleetProcess({ services })] })]);
  const detail = 'http://a:1 is down and ejected for 1 gateway process. Requests that need it get 503.';
  const ids = ['upstream alpha http://a:1', 'upstream beta http://a:1'];
  expect(found({ upstreams })).toMatchObject(ids.map((id) => ({ id, detail })));
});

test('a private Redis in memory only is for information', () => {
  const problems = found({ ...withServer({ appendOnly: false }), redisIsPrivate: true });
  expect(problems).toMatchObject([{ severity: 'notice', title: 'Redis keeps no append-only file' }]);
});

test('the most severe problem is the first', () => {
  const problems = found({
    ...withServer({ evictedKeys: 1, appendOnly: false }),
    ...withGateway({ restartedAt: [ago(10)] }),
  });
  expect(problems.map(({ severity }) => severity)).toEqual(['critical', 'warning', 'notice']);
});

test('the state is a sentence: counts by severity, and well if there is nothing to do', () => {
  const sentence = (...given: Problem['severity'][]) =>
    summarizeProblems(given.map((severity) => ({ severity })));
  expect(sentence()).toBe('All is well.');
  expect(sentence('notice', 'notice')).toBe('Nothing is down; 2 notices.');
  expect(sentence('critical', 'warning', 'warning', 'notice')).toBe(
    '1 critical problem, 2 warnings, 1 notice.',
  );
});

test.each([
  ['a few failed requests', inLastMinute({ byStatus: { '2xx': 100, '5xx': 9 } })],
  ['ten requests a second without a valid key', inLastMinute({ withoutKey: 600 })],
  ['a slow request among few', inLastMinute({ requests: 5, latencyMs: { p50: 1, p99: 900 } })],
])('no problem is %s', (_, given) => {
  expect(found(given)).toEqual([]);
});
