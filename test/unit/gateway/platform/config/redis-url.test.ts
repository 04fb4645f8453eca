import { describe, expect, test } from 'vitest';
import { describeRedis, parseRedisUrl } from '../../../../../gateway/platform/config/redis-url.ts';

const withoutLogin = {
  username: undefined,
  password: undefined,
  tls: false,
  database: 0,
  masterName: '',
  sentinelUsername: undefined,
  sentinelPassword: undefined,
};
const single = (host: string, port = 6379, database = 0) => ({
  kind: 'single',
  hosts: [{ host, port }],
  ...withoutLogin,
  database,
});

describe('REDIS_URL', () => {
  test.each([
    ['redis://127.0.0.1', single('127.0.0.1')],
    ['redis://cache:7000/', single('cache', 7000)],
    ['redis://[::1]:7000/3', single('::1', 7000, 3)],
    [
      'rediss://user:p%40ss%3A@redis.internal:6380/1',
      { ...single('redis.internal', 6380, 1), username: 'user', password: 'p@ss:', tls: true },
    ],
    ['redis://:only@h', { ...single('h'), password: 'only' }],
    [
      'redis+sentinel://a,b:26380,[fd00::1]/mymaster',
      {
        kind: 'sentinel',
        hosts: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 26_380 },
          { host: 'fd00::1', port: 26_379 },
        ],
        ...withoutLogin,
        masterName: 'mymaster',
      },
    ],
    [
      'rediss+sentinel://u:p@a:1/my-master.1/2?sentinelUsername=s&sentinelPassword=t%26',
      {
        kind: 'sentinel',
        hosts: [{ host: 'a', port: 1 }],
        masterName: 'my-master.1',
        database: 2,
        sentinelUsername: 's',
        sentinelPassword: 't&',
        username: 'u',
        password: 'p',
        tls: true,
      },
    ],
    [
      'redis+cluster://a:7001,b:7002',
      {
        kind: 'cluster',
        hosts: [
          { host: 'a', port: 7001 },
          { host: 'b', port: 7002 },
        ],
        ...withoutLogin,
      },
    ],
  ])('%s is parsed', (text, address) => {
    expect(parseRedisUrl(text)).toEqual(address);
  });

  test.each(
    (
      ' redis:// redis://a,b redis://a:65536 redis://a:x redis://a/1/2 redis://a?family=6 ' +
      'redis://u@p@a redis://%zz@a http://a redis+sentinel://a redis+sentinel://a/m/0/1 ' +
      'redis+sentinel://a/m?password=x redis+cluster://a/0 redis+cluster://a,,b'
    ).split(' '),
  )('%j is invalid', (text) => {
    expect(parseRedisUrl(text)).toBeUndefined();
  });

  test.each([
    ['redis://user:hidden@a:1/2', 'Redis at a:1'],
    [
      'redis+sentinel://:hidden@a,[::1]:5/m?sentinelPassword=hidden',
      'Redis through Sentinels at a:26379, [::1]:5 (m)',
    ],
    ['redis+cluster://:hidden@a,b:1', 'Redis Cluster at a:6379, b:1'],
  ])('%s is shown without passwords', (text, shown) => {
    const address = parseRedisUrl(text);
    expect(address && describeRedis(address)).toBe(shown);
  });
});
