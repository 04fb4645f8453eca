import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { createRedis } from '../../../../../gateway/platform/redis/redis-client.ts';

afterEach(() => vi.useRealTimers());

test('a server that has become a replica is left once a second, also after the clock was set back by an hour', () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const redis = createRedis('redis://127.0.0.1:1', pino({ level: 'silent' }));
  redis.disconnect();
  const reconnects = () =>
    redis instanceof Redis && redis.options.reconnectOnError?.(new Error('READONLY You can’t write'));
  expect([reconnects(), reconnects()]).toEqual([true, false]);
  vi.advanceTimersByTime(1000);
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(reconnects()).toBe(true);
});
