import { describe, expect, test } from 'vitest';
import { describeRedis, parseRedisUrl } from '../../../../../gateway/platform/config/redis-url.ts';

/** @param hosts each with its port behind a slash, and spaces between them */
const addressOf = (kind: string, hosts: string, more: object = {}) => ({
  kind,
  hosts: hosts.split(' ').map((text) => {
    const [host, port] = text.split('/');
    return { host, port: Number(port) };
  }),
  username: undefined,
  password: undefined,
  tls: false,
  database: 0,
  masterName: '',
  sentinelUsername: undefined,
  sentinelPassword: undefined,
  ...more,
});
const login = { username: 'user', password: 'p@ss:', tls: true };

describe('REDIS_URL', () => {
  test.each([
    ['redis://127.0.0.1', addressOf('single', '127.0.0.1/6379')],
    ['redis://cache:7000/', addressOf('single', 'cache/7000')],
    ['redis://[::1]:7000/3', addressOf('single', '::1/7000', { database: 3 })],
    ['rediss://user:p%40ss%3A@r:6380/1', addressOf('single', 'r/6380', { ...login, database: 1 })],
    ['redis://:only@h', addressOf('single', 'h/6379', { password: 'only' })],
    [
      'redis+sentinel://a,b:26380,[fd00::1]/mymaster',
      addressOf('sentinel', 'a/26379 b/26380 fd00::1/26379', { masterName: 'mymaster' }),
    ],
    [
      'rediss+sentinel://user:p%40ss%3A@a:1/my-master.1/2?sentinelUsername=s&sentinelPassword=t%26',
      addressOf('sentinel', 'a/1', {
        ...login,
        masterName: 'my-master.1',
        database: 2,
        sentinelUsername: 's',
        sentinelPassword: 't&',
      }),
    ],
    ['redis+cluster://a:7001,b:7002', addressOf('cluster', 'a/7001 b/7002')],
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
