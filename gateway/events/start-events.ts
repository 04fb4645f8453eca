import type { Logger } from 'pino';
import type { Metrics } from '../observability/metrics.ts';
import { createPlans } from '../plans/plans.ts';
import { createOthersReader } from '../redis/enforced-settings.ts';
import { createHashReader } from '../redis/hash-reader.ts';
import { createRedis } from '../redis/redis-client.ts';
import { createRedisClock } from '../redis/redis-clock.ts';
import { startEventLeader } from './event-leader.ts';
import { createPlanThresholds } from './plan-thresholds.ts';
import { createWebhookSender } from './send-webhook.ts';
import type { WebhookRules } from './webhook-address.ts';

interface EventsDependencies {
  redisUrl: string;
  webhookRules: WebhookRules;
  metrics: Metrics;
  log: Logger;
  now: () => number;
}

/** Delivers events, if no other gateway does, by a connection to Redis of its own: requests do not wait behind it. */
export function startEvents({ redisUrl, webhookRules, metrics, log, now }: EventsDependencies) {
  const redis = createRedis(redisUrl, log);
  const hashes = createHashReader(redis);
  // Processes that serve requests report invalid values.
  const invalidValues = { report: () => {}, forget: () => {}, list: () => [] };
  const clock = createRedisClock({ redis, now });
  const leader = startEventLeader({
    redis,
    plans: createPlans({
      hashes,
      invalidValues,
      readOthers: createOthersReader(redis),
      now: clock.now,
    }),
    thresholds: createPlanThresholds({ hashes, invalidValues }),
    sender: createWebhookSender({ rules: webhookRules, now }),
    metrics,
    log,
    now: clock.now,
    syncClock: clock.sync,
  });
  return {
    async close() {
      await leader.close();
      redis.disconnect();
    },
  };
}
