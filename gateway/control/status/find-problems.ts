import { settingPage } from '../plans/settings.ts';
import type { FleetMeasures, UpstreamState } from './fleet-measures.ts';
import { gatewayName, type FleetGateway, type FleetStatus } from './fleet-status.ts';
import { severities, type Problem } from './problem.ts';
import type { RedisServerStatus } from './redis-status.ts';

const system = { page: '/console/settings', text: 'System' };

/** @param place page that shows the problem */
const runbook = (heading: string, place = system) => ({
  ...place,
  document: 'gateway/RUNBOOK.md',
  heading,
});

/** What problems are found in, as of one moment. */
export interface Facts {
  redis: readonly RedisServerStatus[];
  /** Whether the gateway has started Redis itself. */
  redisIsPrivate: boolean;
  fleet: FleetStatus;
  upstreams: readonly UpstreamState[];
  recent: FleetMeasures;
}

interface Finding extends Partial<Omit<Problem, 'id'>> {
  /** Which one it is. */
  of: string;
  detail: string;
}

interface Rule {
  /** @returns the detail, or an entry for each problem of this kind with what is different; false or no entry without a problem */
  find: (facts: Facts) => string | false | readonly Finding[];
  advice: string;
  link: Problem['link'];
}

// Thresholds are those of platform/observability/alerts.yaml, without their delays.
const redisNearlyFull = 0.9;
const redisSlowMs = 25;
const requestsSlowMs = 250;
/** Uses 2 % of a month's allowance of 0.1 % in an hour. */
const maxFailedShare = 14.4 * 0.001;
/** A few failed requests are no share. */
const minimumFailed = 10;
/** With fewer requests in the minute, the p99 is the slowest one. */
const minimumRequests = 100;
const maxRefusedShare = 0.2;
const manyBans = 5;
const maxWithoutKeyPerSecond = 10;
const manyRestarts = 2;
/** Time after a stall of Redis in which it is shown. */
const recentMs = 15 * 60_000;
const maxValueLength = 60;

const emptyRedis = { ...runbook('Redis came back empty'), document: 'gateway/REDIS.md' };
const security = { page: '/console/bans', text: 'Security' };

/** What is so while gateways get no reply from Redis, and what to do. */
export const withoutRedis = {
  effect:
    'Known API keys are limited by each gateway on its own, for 15 minutes after Redis last confirmed them. Others get 503, and no bans begin.',
  advice:
    'Start Redis or mend the network to it. Do not restart gateways until then: they hold the keys that they know, and what they have counted.',
  link: runbook('GatewayWithoutRedis'),
};

/** @returns a function that finds all problems of one kind */
function rule(severity: Problem['severity'], id: string, title: string, { find, ...rest }: Rule) {
  return (facts: Facts): Problem[] => {
    const found = find(facts);
    if (found === false) return [];
    if (typeof found === 'string') return [{ id, severity, title, detail: found, ...rest }];
    return found.map(({ of, ...finding }) =>
      Object.assign({ severity, title, ...rest }, finding, { id: `${id} ${of}` }),
    );
  };
}

/** One list, for the overview and `ops status` alike. */
const rules = [
  rule('critical', 'redis-read-only', 'Redis is read only', {
    find: (facts) =>
      ofServers(facts, ({ role }) => role === 'slave' && `is a replica. ${withoutRedis.effect}`),
    advice: 'Let REDIS_URL name the primary, or Sentinels, which know it.',
    link: withoutRedis.link,
  }),
  rule('critical', 'redis-emptied', 'Redis came back empty', {
    find: (facts) =>
      isEmptied(facts) &&
      'The mark that it was set up, gw:set-up, is missing. Requests with keys that Redis lacks get 503.',
    advice:
      'Do not restart gateways. Stop this Redis: known keys are served again without it. Restore plans and keys into one that no gateway uses yet.',
    link: emptyRedis,
  }),
  rule('critical', 'redis-evicts', 'Redis has evicted keys', {
    find: (facts) =>
      ofServers(
        facts,
        ({ evictedKeys }) =>
          (evictedKeys ?? 0) > 0 &&
          `has evicted ${evictedKeys} keys since it started. API keys and counters may be among them.`,
      ),
    advice: 'Set maxmemory-policy to noeviction and raise maxmemory, then import the API keys that are lost.',
    link: emptyRedis,
  }),
  rule('warning', 'redis-nearly-full', 'Redis is nearly full', {
    find: (facts) =>
      ofServers(facts, ({ memory }) => {
        const share = memory === null ? 0 : memory.usedBytes / memory.limitBytes;
        return (
          share > redisNearlyFull &&
          `uses ${percent(share)} of its memory. When it is full it refuses writes, and gateways work without it.`
        );
      }),
    advice: 'Raise maxmemory, and look for keys in it that are not of the gateway.',
    link: runbook('GatewayRedisNearlyFull'),
  }),
  rule('warning', 'redis-memory-only', 'Redis keeps no append-only file', {
    find: (facts) =>
      ofServers(
        facts,
        ({ appendOnly }) =>
          appendOnly === false &&
          'has appendonly off, so API keys and counters may be lost when it ends. A private Redis in memory is for trying out.',
      ).map((finding) =>
        Object.assign(finding, facts.redisIsPrivate ? ({ severity: 'notice' } as const) : {}),
      ),
    advice:
      'Set it to yes: redis-cli CONFIG SET appendonly yes, and in its file. In place of a private one, install redis-server or set REDIS_URL.',
    link: { ...runbook('What every deployment needs'), document: 'gateway/DEPLOY.md' },
  }),
  rule('warning', 'redis-slow', 'Redis is slow', {
    find: ({ recent: { redisP99Ms } }) =>
      redisP99Ms !== null &&
      redisP99Ms > redisSlowMs &&
      `One of a hundred Redis commands that requests wait for takes ${Math.round(redisP99Ms)} ms or more (p99 of the last minute). After 100 ms, a gateway goes on without Redis.`,
    advice: 'Look for a slow command (redis-cli SLOWLOG GET 10), a slow disk or a slow network.',
    link: runbook('GatewayLatencyBudgetBurn'),
  }),
  rule('notice', 'local-mode', 'Gateways were without Redis', {
    find: findStalls,
    advice: 'If it goes on, or happens again, look at the network to Redis and at slow commands.',
    link: runbook('GatewayWithoutRedis'),
  }),
  rule('critical', 'no-gateway', 'No gateway is running', {
    find: ({ fleet: { gateways } }) => !gateways.some(isSeen) && 'No gateway announces itself on this Redis.',
    advice: 'Start one, or check that REDIS_URL is the Redis of the gateways.',
    link: runbook('GatewayMissing'),
  }),
  rule('warning', 'gateway-not-seen', 'A gateway is not seen', {
    find: ({ fleet: { gateways, atMs } }) => gateways.flatMap((gateway) => findMissing(gateway, atMs)),
    advice:
      'Ask for /readyz on its admin port. Its supervisor and its log say why it ended, hangs, or cannot start workers.',
    link: runbook('GatewayDown'),
  }),
  rule('notice', 'workers-restarting', 'Workers exit or hang', {
    find: ({ fleet: { gateways } }) =>
      gateways
        .filter(({ restartedAt }) => restartedAt.length > 0)
        .map((gateway) => ({
          of: gateway.id,
          severity: gateway.restartedAt.length > manyRestarts ? 'warning' : 'notice',
          detail: `${gatewayName(gateway)} has replaced ${plural(gateway.restartedAt.length, 'worker', 'workers')} in 15 minutes, the last one at ${gateway.restartedAt.at(-1)}. Requests in flight in them were lost.`,
        })),
    advice: 'Look for "worker exited unexpectedly" and "worker does not respond" in its log.',
    link: runbook('GatewayWorkersRestarting'),
  }),
  rule('warning', 'upstream', 'An instance of a service is down', {
    find: ({ upstreams }) =>
      Array.from(Map.groupBy(upstreams, ({ service }) => service).values(), findDown).flat(),
    advice: 'If it is not being restarted or upgraded, check its process, its address and its log.',
    link: runbook('GatewayUpstreamDown'),
  }),
  rule('warning', 'invalid-setting', 'A setting in Redis is invalid', {
    // An empty Redis lacks them all.
    find: (facts) => (isEmptied(facts) ? [] : facts.fleet.invalidSettings.map(describeInvalid)),
    advice: 'Set the value again. The audit log says who changed it last; nothing there means redis-cli.',
    link: runbook('GatewayInvalidSettings'),
  }),
  rule('warning', 'webhook-disabled', 'A webhook is disabled', {
    find: ({ fleet: { disabledWebhooks } }) =>
      disabledWebhooks.map(({ id, disabledBecause }) => ({
        of: id,
        detail: `${id} gets no events any more: ${disabledBecause}.`,
      })),
    advice:
      'Tell its owner. When ops webhooks test is delivered, switch it on again: ops webhooks set with --on. It does not get what happened in between.',
    link: runbook('GatewayWebhookDisabled', { page: '/console/webhooks', text: 'Webhooks' }),
  }),
  rule('critical', 'failures', 'Many requests fail', {
    find({ recent: { byStatus } }) {
      const failed = (byStatus['5xx'] ?? 0) + (byStatus['cut_off'] ?? 0);
      const share = failed / (failed + (byStatus['2xx'] ?? 0));
      return (
        failed >= minimumFailed &&
        share > maxFailedShare &&
        `${percent(share)} of the requests of the last minute ended with 5xx or were cut off (${failed}); the objective is 0.1 %.`
      );
    },
    advice:
      'The errors of the last minute are shown by code, and the metric gateway_errors_total has all. If it began with a change, undo it.',
    link: runbook('GatewayErrorBudgetBurn'),
  }),
  rule('warning', 'latency', 'Requests are slow', {
    find: ({ recent: { requests, latencyMs } }) =>
      latencyMs !== null &&
      requests >= minimumRequests &&
      latencyMs.p99 > requestsSlowMs &&
      `One of a hundred requests takes ${Math.round(latencyMs.p99)} ms or more (p99 of the last minute). The objective is ${requestsSlowMs} ms.`,
    advice:
      'gateway_upstream_duration_seconds says which service is slow. If none is, look at Redis, and at the CPU of the gateways.',
    link: runbook('GatewayLatencyBudgetBurn'),
  }),
  rule('notice', 'refusals', 'Many requests are refused', {
    find({ recent: { requests, refused, withoutKey } }) {
      const withKey = requests - withoutKey;
      return (
        withKey >= minimumRequests &&
        refused / withKey > maxRefusedShare &&
        `${percent(refused / withKey)} of the requests with a valid key got 429 in the last minute (${refused}).`
      );
    },
    advice:
      'ops top, or Busiest customers on the Overview, names them. If customers have grown, raise their plan.',
    link: { page: '/console/customers', text: 'Customers' },
  }),
  rule('warning', 'bans', 'Many keys are being banned', {
    find: ({ recent: { bans } }) => bans >= manyBans && `${bans} bans began in the last minute.`,
    advice: 'If the keys are those of one client, a release of it may not obey Retry-After.',
    link: security,
  }),
  rule('warning', 'flood', 'Many requests without a valid key are refused', {
    find: ({ recent: { withoutKey } }) =>
      withoutKey / 60 > maxWithoutKeyPerSecond &&
      `${Math.round(withoutKey / 60)} requests a second had no valid key in the last minute.`,
    advice:
      'The access log has their addresses. Unless it is a customer whose key has expired, block them in the proxy or network in front.',
    link: runbook('GatewayFloodWithoutKeys', security),
  }),
];

/** Everything that is wrong, most severe first. */
export function findProblems(facts: Facts): Problem[] {
  return rules
    .flatMap((find) => find(facts))
    .toSorted((one, other) => severities.indexOf(one.severity) - severities.indexOf(other.severity));
}

/** @param describe what is wrong with a server, in a sentence that begins with its address */
function ofServers({ redis }: Facts, describe: (server: RedisServerStatus) => string | false): Finding[] {
  return redis.flatMap((server) => {
    const text = describe(server);
    return text === false ? [] : { of: server.address, detail: `${server.address} ${text}` };
  });
}

/** One stall of Redis is one problem, however many gateways and processes it hit. */
function findStalls({ fleet: { gateways, atMs } }: Facts): Finding[] {
  const stalls = gateways.flatMap((gateway) =>
    liveProcesses([gateway])
      .flatMap(({ localMode }) => localMode ?? [])
      .filter(({ to }) => to === null || atMs - Date.parse(to) < recentMs)
      .map(({ from, to }) => ({ name: gatewayName(gateway), from, to })),
  );
  const [first] = stalls.toSorted((one, other) => one.from.localeCompare(other.from));
  if (first === undefined) return [];
  const isLasting = stalls.some(({ to }) => to === null);
  const ends = stalls.map(({ to }) => to ?? '').toSorted();
  const end = isLasting ? 'which goes on' : `until ${ends.at(-1)}`;
  const names = [...new Set(stalls.map(({ name }) => name))].join(', ');
  const detail = `${names}: from ${first.from}, ${end}. Each process limits known API keys on its own in this time.`;
  return [{ of: first.from, severity: isLasting ? 'critical' : 'notice', detail }];
}

function findMissing(gateway: FleetGateway, nowMs: number): Finding[] {
  const { id: of, workers } = gateway;
  const live = liveProcesses([gateway]).length;
  const name = `Gateway ${gatewayName(gateway)}`;
  if (isSeen(gateway)) {
    const title = `${name} runs ${live} of ${workers} workers`;
    return live < workers ? [{ of, title, detail: 'The others hang, or cannot start.' }] : [];
  }
  const seconds = Math.round(
    (nowMs - Math.max(...gateway.processes.map(({ seenAt }) => Date.parse(seenAt)))) / 1000,
  );
  const detail = `It last announced itself ${seconds} s ago and has not shut down: it has crashed, hangs, or is cut off from Redis.`;
  return [{ of, title: `${name} is not seen`, detail }];
}

const stateText: Record<string, string> = { down: 'down and ejected', not_ready: 'not ready' };

/** @param instances of one service */
function findDown(instances: Facts['upstreams']): Finding[] {
  const failing = instances.filter(({ state }) => state in stateText);
  return failing.map(({ upstream, service, state, seenAs }) => {
    const of = `${service} ${upstream}`;
    const seen = plural(seenAs[state] ?? 0, 'gateway process', 'gateway processes');
    const text = `${upstream} is ${stateText[state]} for ${seen}.`;
    if (failing.length < instances.length) {
      const severity = state === 'down' ? 'warning' : 'notice';
      const detail = `${text} The other instances get its requests.`;
      return { of, severity, title: `Upstream ${upstream} is ${stateText[state]}`, detail };
    }
    const detail = `${text} Requests that need it get 503.`;
    const link = runbook('GatewayNoUpstreamReady');
    return { of, severity: 'critical', title: `No instance of ${service} is ready`, detail, link };
  });
}

function describeInvalid(setting: Facts['fleet']['invalidSettings'][number]): Finding {
  const { key, issues, stored, processes, withoutValues } = setting;
  const sentences = issues.map((issue) => {
    const value = stored[issue.split(' ', 1)[0] ?? ''];
    return value === undefined ? `${issue}.` : `${issue}; it is "${value.slice(0, maxValueLength)}".`;
  });
  if (withoutValues > 0)
    sentences.push(
      `${withoutValues} of ${processes} gateway processes have no values: API keys that need them get 503.`,
    );
  else if (processes > 0)
    sentences.push(
      `${plural(processes, 'gateway process keeps', 'gateway processes keep')} the last valid values.`,
    );
  const link = settingPage(key);
  return {
    of: key,
    severity: withoutValues > 0 ? 'critical' : 'warning',
    // The hash of an API key identifies it, but says nothing to people.
    title: `The setting ${key.replace(/:[\da-f]{64}$/, ':…')} in Redis is invalid`,
    detail: sentences.join(' '),
    ...(link !== undefined && { link }),
  };
}

const isEmptied = ({ fleet }: Facts) =>
  liveProcesses(fleet.gateways).some(({ redisEmptied }) => redisEmptied);
const isSeen = ({ state }: { state: string }) => state !== 'not_seen';
const liveProcesses = (gateways: readonly FleetGateway[]) =>
  gateways.flatMap(({ processes }) => processes).filter(isSeen);
const percent = (share: number) => `${Math.round(share * 1000) / 10} %`;
const plural = (count: number, one: string, several: string) => `${count} ${count === 1 ? one : several}`;
