import { randomBytes } from 'node:crypto';
import { anyRev, createCaller } from '../../../gateway/keys/api-key-cache.ts';
import type { Limits } from '../../../gateway/limits/limits.ts';
import { dayMs, dayNumberOf } from '../../../gateway/limits/windows.ts';
import { scriptFiles, type RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { redisKeys } from '../../../gateway/platform/redis/redis-keys.ts';
import { defineScripts, definitionsOf, loadScript } from '../../../gateway/platform/redis/scripts.ts';
import type { QuotaDecision } from '../../../gateway/quota/quota-decision.ts';
import { consumeQuota, giveBackQuota } from '../../../gateway/quota/redis-quota.ts';
import { readUsageDays } from '../../../gateway/quota/usage.ts';
import { createOpenBatch } from './quota-batch.ts';

const clockKey = 'test:clock';

/**
 * Makes the gateway's scripts on this connection read the time from a Redis key instead of the server's clock, which
 * cannot be set. Redis still deletes expired keys by the real time.
 * @returns sets the clock, in Unix milliseconds
 */
function scriptClock(redis: RedisClient): (nowMs: number) => Promise<void> {
  const withClock = (file: string) =>
    loadScript(file).replace("redis.call('TIME')", `redis.call('LRANGE', '${clockKey}', 0, 1)`);
  if (withClock('clock.lua') === loadScript('clock.lua'))
    throw new Error('the scripts do not read TIME any more');
  defineScripts(redis, definitionsOf(scriptFiles, withClock));
  return async (nowMs) => {
    const micros = (nowMs % 1000) * 1000;
    await redis
      .multi()
      .del(clockKey)
      .rpush(clockKey, Math.floor(nowMs / 1000), micros)
      .exec();
  };
}

const unlimited = { minute: 1_000_000, day: 1_000_000 };

/**
 * An API key of a customer of its own, whose requests the scripts count at times that the test sets.
 * @param dayLimit limit of a day; that of a minute is never reached
 */
export async function createSimulatedKey(redis: RedisClient, dayLimit = 1_000_000) {
  const keyHash = randomBytes(32).toString('hex');
  const customerId = `cus_${keyHash.slice(0, 18)}` as const;
  const setClock = scriptClock(redis);
  const batch = createOpenBatch(redis);
  const record = {
    id: 'key_1',
    customerId,
    name: 'ACME',
    plan: 'free',
    hint: '',
    createdAt: '',
    rev: anyRev,
  };
  const caller = createCaller(record, keyHash);
  const { id, name, plan } = record;
  await redis.hset(redisKeys.customer(customerId), { id: customerId, name, plan, rev: 1 });
  await redis.hset(redisKeys.apiKey({ customerId, keyHash }), { id, name });
  let nowMs = 0;
  let reports = 0;
  return {
    customerId,
    keyHash,
    /** @param time ISO 8601, or Unix milliseconds */
    async at(time: string | number) {
      nowMs = typeof time === 'number' ? time : Date.parse(time);
      await setClock(nowMs);
    },
    /** Sends requests one after another. @returns their outcomes */
    async serve(requests: number) {
      const outcomes: string[] = [];
      for (let request = 0; request < requests; request += 1) {
        const limits = { ...unlimited, day: dayLimit };
        const decision = await consumeQuota(batch, { caller, limits });
        outcomes.push(decision.outcome);
      }
      return outcomes;
    },
    /** Sends one request that these limits hold for. @param sender hash of its key, which may be another one of the customer */
    decide: (limits: Limits, cost = 1, sender = keyHash) =>
      consumeQuota(batch, { caller: createCaller(record, sender), limits, cost }),
    /** Gives back what such a request has cost, which was allowed. */
    giveBack(decision: QuotaDecision, limits: Limits, cost = 1) {
      if (decision.outcome !== 'allowed') throw new Error('the request was not allowed');
      return giveBackQuota(redis, { caller, limits, cost, decision, retentionDays: 400 });
    },
    /** Adds a report of a process. @param daysAgo days before the present one */
    async report({ served = 0, refused = 0, daysAgo = 0 }) {
      reports += 1;
      const mark = redisKeys.dayReport(customerId, 'process');
      const day = dayNumberOf(nowMs) - daysAgo;
      await redis.addUsage(mark, redisKeys.usagePrefix(customerId), reports, day, served, refused, 400);
    },
    /** Sets the day back. @returns the units that it had */
    resetDay: () => redis.resetDay(redisKeys.usagePrefix(customerId), 400),
    /** Use of the days of a range of dates, both included. */
    days: (from: string, to: string) =>
      readUsageDays(redis, customerId, {
        first: Date.parse(from) / dayMs,
        last: Date.parse(to) / dayMs,
        oldest: 0,
      }),
  };
}
