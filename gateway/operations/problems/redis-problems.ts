import { combineMeasures } from '../fleet-measures.ts';
import type { LiveFacts } from './live-facts.ts';
import { countOwnStalls } from './local-mode-problems.ts';
import { alerts, runbook, type Problem } from './problem.ts';

/** As GatewayRedisNearlyFull in alerts.yaml. */
const nearlyFull = 0.9;
/** A gateway gives up on Redis after 100 ms. As GatewayRedisSlow in alerts.yaml. */
const slowMs = 25;

/** What is so while gateways get no reply from Redis, and what to do. */
export const withoutRedis = {
  effect:
    'Known API keys are served and limited by each gateway on its own, others get 503, and no bans begin.',
  advice:
    'Start Redis or mend the network to it. Do not restart gateways until then: they hold the keys that they know, and what they have counted.',
  link: alerts('GatewayWithoutRedis'),
};

export function findRedisProblems({
  redis,
  redisIsPrivate,
  fleet,
}: Pick<LiveFacts, 'redis' | 'redisIsPrivate' | 'fleet'>): Problem[] {
  if (!redis.available) {
    return [
      {
        id: 'redis-unavailable',
        severity: 'critical',
        title: 'Redis is unavailable',
        detail: `This gateway has had no reply since ${redis.since}. ${withoutRedis.effect}${stallsText(fleet)}`,
        advice: withoutRedis.advice,
        link: withoutRedis.link,
      },
    ];
  }
  const ofServers = redis.servers.flatMap(({ address, memory, appendOnly, evictedKeys }) => {
    const problems: Problem[] = [];
    if (memory !== null && memory.usedBytes > nearlyFull * memory.limitBytes) {
      problems.push({
        id: `redis-nearly-full ${address}`,
        severity: 'warning',
        title: 'Redis is nearly full',
        detail: `${address} uses ${percent(memory.usedBytes / memory.limitBytes)} of its memory. When it is full it refuses writes, and gateways work without it.`,
        advice: 'Raise maxmemory, and look for keys in it that are not of the gateway.',
        link: alerts('GatewayRedisNearlyFull'),
      });
    }
    if (evictedKeys !== null && evictedKeys > 0) {
      problems.push({
        id: `redis-evicts ${address}`,
        severity: 'critical',
        title: 'Redis has evicted keys',
        detail: `${address} has evicted ${evictedKeys} keys since it started. API keys and counters may be among them.`,
        advice:
          'Set maxmemory-policy to noeviction and raise maxmemory, then import the API keys that are lost.',
        link: runbook('Redis came back empty'),
      });
    }
    if (appendOnly === false && redisIsPrivate) {
      problems.push({
        id: `redis-embedded ${address}`,
        severity: 'notice',
        title: 'Redis is embedded and in memory only',
        detail: 'API keys and counters are lost when the gateway stops.',
        advice: 'Install redis-server, which the gateway then starts by itself, or set REDIS_URL.',
        link: { document: 'gateway/DEPLOY.md', heading: 'What every deployment needs' },
      });
    } else if (appendOnly === false) {
      problems.push({
        id: `redis-memory-only ${address}`,
        severity: 'warning',
        title: 'Redis keeps no append-only file',
        detail: `appendonly of ${address} is off, so a restart of Redis may lose API keys and counters.`,
        advice: 'Set it to yes: redis-cli CONFIG SET appendonly yes, and in its file.',
        link: { document: 'gateway/DEPLOY.md', heading: 'What every deployment needs' },
      });
    }
    return problems;
  });
  return [...emptiedProblem(fleet), ...ofServers, ...slowRedis(fleet)];
}

function* slowRedis({ gateways }: LiveFacts['fleet']): Iterable<Problem> {
  const { redisP99Ms } = combineMeasures(gateways);
  if (redisP99Ms === null || redisP99Ms <= slowMs) return;
  yield {
    id: 'redis-slow',
    severity: 'warning',
    title: 'Redis is slow',
    detail: `One of a hundred Redis commands that requests wait for takes ${Math.round(redisP99Ms)} ms or more (p99 of the last minute). After 100 ms, a gateway goes on without Redis.`,
    advice: 'Look for a slow command (redis-cli SLOWLOG GET 10), a slow disk or a slow network.',
    link: alerts('GatewayRedisSlow'),
  };
}

function stallsText(fleet: LiveFacts['fleet']): string {
  const stalls = countOwnStalls(fleet);
  return stalls === undefined || stalls.count === 1
    ? ''
    : ` It has gone ${stalls.count} times since ${stalls.since}.`;
}

function* emptiedProblem({ gateways }: LiveFacts['fleet']): Iterable<Problem> {
  const isEmptied = gateways
    .flatMap(({ processes }) => processes)
    .some(({ state, redisEmptied }) => state !== 'not_seen' && redisEmptied);
  if (!isEmptied) return;
  yield {
    id: 'redis-emptied',
    severity: 'critical',
    title: 'Redis came back empty',
    detail:
      'The mark that it was set up, gw:set-up, is missing. Requests with keys that Redis lacks get 503.',
    advice: 'Do not restart gateways. Restore plans and keys from the last backup, as the runbook says.',
    link: runbook('Redis came back empty'),
  };
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
