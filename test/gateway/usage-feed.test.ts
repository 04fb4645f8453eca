import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { GatewayEvent } from '../../gateway/events/event-types.ts';
import { feedUsage } from '../../gateway/events/usage-feed.ts';
import { dayMs, dayNumberOf, utcDate } from '../../gateway/limits/utc-day.ts';
import { addWebhook, findWebhook, replayEvents } from '../../gateway/operations/webhooks.ts';
import { seedDefaults } from '../../gateway/quota/seed-defaults.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { eventSession, localRules } from '../support/kits/events-kit.ts';
import { keyIssuer, startRedisKit } from '../support/kits/keys.ts';

const daysAgo = (days: number) => utcDate(dayNumberOf(Date.now()) - days);

describe('the billing feed of a webhook', () => {
  let redis: RedisClient;
  let webhookId: string;
  const hook = { url: 'http://127.0.0.1:1/feed', types: ['usage.day'] };
  const session = () => eventSession(redis);

  beforeAll(async () => {
    const kit = await startRedisKit();
    ({ redis } = kit);
    return () => kit[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await redis.flushall();
    await seedDefaults(redis, 'tests');
    const past = { ...session(), now: () => Date.now() - 4 * dayMs };
    webhookId = (await addWebhook(past, 'operators', hook, localRules)).id;
  });

  async function customerWithUse() {
    const { customerId } = await keyIssuer(redis).issue();
    for (const ago of [4, 3, 2]) {
      const date = daysAgo(ago);
      const use = { [date.slice(6)]: 1, [`p${date.slice(6)}`]: 'free', plan: 'free' };
      await redis.hset(redisKeys.usageMonth(customerId, date.slice(0, 6)), use);
    }
    return customerId;
  }

  /** Sends all that is due. @returns the days and customers that were sent */
  async function feed(onSent: (sent: string[]) => Promise<unknown> = () => Promise.resolve()) {
    const sent: string[] = [];
    const deliveries = {
      isActive: () => true,
      async sendNow(_webhook: unknown, { data }: GatewayEvent) {
        const { date, customerId } = data as { date: string; customerId: string };
        sent.push(`${date.replaceAll('-', '')} ${customerId}`);
        await onSent(sent);
        return true;
      },
    };
    const webhook = await findWebhook(session(), 'operators', webhookId);
    await feedUsage({ redis, deliveries, now: Date.now }, webhook);
    return sent;
  }

  const replay = (since: number) => replayEvents(session(), 'operators', webhookId, new Date(since));

  test('skips no day that it has yet to send for a replay of the last hours, or since a time to come', async () => {
    const customerId = await customerWithUse();
    await replay(Date.now() - 2 * 3_600_000);
    await replay(Date.now() + 30 * dayMs);
    expect(await feed()).toEqual([4, 3, 2].map((ago) => `${daysAgo(ago)} ${customerId}`));
    await replay(Date.now() - 3 * dayMs);
    expect(await feed()).toEqual([3, 2].map((ago) => `${daysAgo(ago)} ${customerId}`));
  });

  test('begins at the day of a replay that comes while it sends', async () => {
    const customerId = await customerWithUse();
    const sent = await feed(async ({ length }) => {
      if (length === 3) await replay(Date.now() - 4 * dayMs);
    });
    expect(sent).toEqual([4, 3, 2, 4, 3, 2].map((ago) => `${daysAgo(ago)} ${customerId}`));
  });

  test('goes on after a customer whose record was edited into another type of value', async () => {
    const edited = await customerWithUse();
    const lost = await customerWithUse();
    const customerId = await customerWithUse();
    await redis.set(redisKeys.customer(edited), 'by hand');
    await redis.set(redisKeys.usageMonth(lost, daysAgo(4).slice(0, 6)), 'by hand');
    const sent = await feed();
    expect(sent).toContain(`${daysAgo(4)} ${edited}`);
    expect(sent).toContain(`${daysAgo(2)} ${customerId}`);
  });
});
