import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { redisStateOf, runOps, startGateway, type Service } from '../support/kits/service.ts';
import { startRedisRelay, type RedisRelay } from '../support/stores/redis-relay.ts';

describe('a malformed reply of Redis', { tags: ['redis-server'], timeout: 120_000 }, () => {
  let kit: GatewayKit;
  let relay: RedisRelay;
  let gateway: Service;
  beforeAll(async () => {
    kit = await startGatewayKit();
    relay = await startRedisRelay(kit.server.port);
    gateway = await startGateway({ REDIS_URL: relay.url, PETS_SERVICE_URL: kit.upstream.url });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
    await kit[Symbol.asyncDispose]();
  });

  test.each([
    ['bytes of no known type', '\u0001\u0002\r\n', 'Unknown RESP type 1'],
    ['text', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'Unknown RESP type 72'],
    ['a reply that no command waits for', '+OK\r\n', 'no command waits for it'],
    ['a null that no command waits for', '$-1\r\n', 'no command waits for it'],
    ['an array that no command waits for', '*0\r\n', 'no command waits for it'],
    ['a push message without a name', '>1\r\n$-1\r\n', ''],
  ])('%s: the gateway logs it, serves known keys, and connects again', async (_name, bytes, cause) => {
    const { key } = await kit.issue({ minute: 1000 });
    const pets = async () => (await send(`${gateway.url}/v1/pets`, { key })).status;
    const redisState = () => redisStateOf(gateway);
    await expect.poll(redisState, { timeout: 10_000 }).toBe('ok');
    expect(await pets()).toBe(200);

    void relay.inject(bytes);
    const statuses = await Promise.all(Array.from({ length: 20 }, pets));
    expect(new Set(statuses)).toEqual(new Set([200]));
    // A command that waits for its reply takes the bytes, and only the reply itself is then one too many. The queue of events
    // always waits with one, and goes on.
    const reasons = () =>
      gateway
        .output()
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { reason?: string }).reason ?? '')
        .join('\n');
    await expect.poll(reasons, { timeout: 10_000 }).toContain(`Redis sent a malformed reply: ${cause}`);
    await expect.poll(redisState, { timeout: 10_000 }).toBe('ok');
    expect(await pets()).toBe(200);
  });

  test('the ops command reports it in one line', async () => {
    const ops = () => runOps(['keys', 'show', 'key_1'], { REDIS_URL: own.url });
    await using own = await startRedisRelay(kit.server.port);
    own.replyTo('hget', '@what\r\n');
    const duringCommand = await ops();
    expect(duringCommand).toMatchObject({ code: 1, stdout: '' });
    expect(duringCommand.stderr).toBe(
      'ops: Redis sent a malformed reply: Unknown RESP type 64 "@"; a change under way may be made or not, see: ops audit\n',
    );
    own.replyTo('', 'HTTP/1.1 400 Bad Request\r\n\r\n');
    const fromTheStart = await ops();
    expect(fromTheStart).toMatchObject({ code: 1, stdout: '' });
    expect(fromTheStart.stderr).toMatch(
      /^ops: Redis at \S+ cannot be reached: Redis sent a malformed reply: Unknown RESP type 72 "H"\n$/,
    );
  });
});
