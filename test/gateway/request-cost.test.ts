import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { generateApiKey, hashApiKey } from '../../gateway/keys/api-key-format.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { loadScript } from '../../gateway/platform/redis/scripts.ts';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { metricOf } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { monitorRedis, type MonitoredCommand } from '../support/stores/redis-monitor.ts';

/*
 * Counts the Redis commands and the write calls of one request, so that no change adds one unnoticed. The benchmark
 * (test/bench/) measures times.
 */

const warmUp = 20;
/**
 * Commands and scripts of timers: what was counted beside requests is reported each five seconds. The text of a script (eval)
 * is sent once, and that of requests before anything is counted.
 */
const timerCommands = new Set(['eval', 'hincrby', 'zincrby']);
const timerShas = new Set(
  ['add-failures-1.lua', 'add-key-use-1.lua', 'add-usage-2.lua'].map((name) =>
    hash('sha1', loadScript(name), 'hex'),
  ),
);

describe('the cost of a request', { tags: ['redis-server'] }, () => {
  // Without the access log: its lines are written in batches, and their number depends on the speed of the machine.
  const kit = shared(() => startGatewayKit({ LOG_LEVEL: 'warn', TRUST_PROXY: 'loopback' }));

  const issue = () => kit.issue({ plan: 'enterprise', minute: 100_000, day: 100_000 });
  const get = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });
  const post = (key: string) => postJson(`${kit.gateway.url}/v1/pets`, key, { name: 'Rex', categoryId: 1 });

  /** Counts commands that name the key or its customer: those of the gateway and, with the prefix `lua`, those of its script. */
  async function countCommands(
    names: readonly string[],
    requests: () => Promise<void>,
  ): Promise<Record<string, number>> {
    const monitor = await monitorRedis(kit.server.port);
    await requests();
    await kit.redis.echo('the end');
    const isEnd = ({ args }: MonitoredCommand) => args[0] === 'echo' && args[1] === 'the end';
    await expect.poll(() => monitor.commands.some(isEnd)).toBe(true);
    monitor.close();
    const counts: Record<string, number> = {};
    let isOfTimer = false;
    for (const { args, source } of monitor.commands) {
      if (source !== 'lua')
        isOfTimer = timerCommands.has(args[0]?.toLowerCase() ?? '') || timerShas.has(args[1] ?? '');
      if (isOfTimer || !args.some((arg) => names.some((name) => arg.includes(name)))) continue;
      const name = `${source === 'lua' ? 'lua ' : ''}${args[0]?.toLowerCase()}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  async function repeat(times: number, request: () => Promise<{ status: number }>, status: number) {
    for (let index = 0; index < times; index += 1) expect((await request()).status).toBe(status);
  }

  // The one gateway that delivers events sends three a second for that, the others one.
  test('an idle gateway sends at most ten commands in each half second', async () => {
    const monitor = await monitorRedis(kit.server.port);
    const sent = () => monitor.commands.filter(({ source }) => source !== 'lua').map(({ args }) => args[0]);
    // One in each half second. Some commands are sent every five seconds.
    const rounds = () => sent().filter((name) => name === 'time').length;
    await expect.poll(rounds, { timeout: 10_000 }).toBeGreaterThan(11);
    monitor.close();
    expect(sent().length / rounds()).toBeLessThan(10);
  });

  test('a served request costs one Redis command, whose script runs seven', async () => {
    const { key, customerId, keyHash } = await issue();
    await repeat(warmUp, () => get(key), 200);
    const requests = 50;
    expect(await countCommands([keyHash, customerId], () => repeat(requests, () => get(key), 200))).toEqual({
      evalsha: requests,
      'lua hget': requests,
      // One for the ban, one for the minute window.
      'lua pttl': 2 * requests,
      'lua get': requests,
      'lua incrby': requests,
      // The day and the month.
      'lua hmget': requests,
      'lua hset': requests,
    });
  });

  test('the first request of a key costs three more commands: who its customer is, and both records', async () => {
    const { key, customerId, keyHash } = await issue();
    const counts = await countCommands([keyHash, customerId], () => repeat(1, () => get(key), 200));
    expect(counts).toMatchObject({ get: 1, hgetall: 2, evalsha: 1 });
  });

  test('a refused request costs no more commands', async () => {
    const { key, customerId, keyHash } = await kit.issue({ plan: 'enterprise', minute: 1, day: 100_000 });
    await repeat(1, () => get(key), 200);
    const counts = await countCommands([keyHash, customerId], () => repeat(50, () => get(key), 429));
    const ofGateway = Object.entries(counts).filter(([name]) => !name.startsWith('lua '));
    expect(ofGateway).toEqual([['evalsha', 50]]);
  });

  test('a banned key costs at most one command a second', async () => {
    const { key, customerId, keyHash } = await issue();
    await kit.redis.set(redisKeys.ban({ customerId, keyHash }), '1', 'EX', 60);
    await repeat(1, () => get(key), 429);
    const startedAt = performance.now();
    const counts = await countCommands([keyHash, customerId], () => repeat(200, () => get(key), 429));
    const seconds = Math.ceil((performance.now() - startedAt) / 1000);
    expect(counts['evalsha'] ?? 0).toBeLessThanOrEqual(seconds);
  });

  /** Lets an address use up its limit, and counts the Redis commands that name the text while it goes on. */
  async function flood(address: string, text: string, refused: (index: number) => Record<string, string>) {
    const headers = { 'x-forwarded-for': address };
    const anonymous = () => send(`${kit.gateway.url}/v1/pets`, { headers });
    await expect.poll(async () => (await anonymous()).status, { interval: 0, timeout: 10_000 }).toBe(429);
    const startedAt = performance.now();
    let index = 0;
    const request = () =>
      send(`${kit.gateway.url}/v1/pets`, { headers: { ...headers, ...refused((index += 1)) } });
    const counts = await countCommands([text], () => repeat(200, request, 429));
    return { counts, seconds: Math.ceil((performance.now() - startedAt) / 1000) };
  }

  test('an address over its limit costs at most one command a second', async () => {
    const { counts, seconds } = await flood('198.51.100.1', '198.51.100.1', () => ({}));
    expect((counts['evalsha'] ?? 0) + (counts['get'] ?? 0)).toBeLessThanOrEqual(seconds);
  });

  test('an invalid key that such an address repeats is looked up at most once a second', async () => {
    const key = generateApiKey();
    const { counts, seconds } = await flood('198.51.100.2', hashApiKey(key), () => ({
      authorization: `Bearer ${key}`,
    }));
    expect(counts['get']).toBeLessThanOrEqual(seconds + 1);
  });

  /** Bytes of V8's old space, where objects are that outlive two collections. */
  const oldSpace = async () =>
    (await metricOf(kit.gateway, 'nodejs_heap_space_size_used_bytes{space="old"}')) ?? Number.NaN;

  test('what a request allocates is free again after it, without a collection of the old space', async () => {
    const { key } = await issue();
    const serve = (times: number) =>
      Promise.all(Array.from({ length: 20 }, () => repeat(times / 20, () => get(key), 200)));
    await serve(1000);
    const before = await oldSpace();
    const requests = 3000;
    await serve(requests);
    // A request allocates some 30 kB. Once a closure kept 7 kB of each.
    expect(((await oldSpace()) - before) / requests).toBeLessThan(3000);
  });

  /** Number of write calls of the gateway process; not a number without /proc. */
  async function writeCalls(): Promise<number> {
    const text = await readFile(`/proc/${kit.gateway.pid}/io`, 'utf8').catch(() => '');
    return Number(/^syscw: (\d+)$/m.exec(text)?.[1]);
  }

  test.for([
    ['GET', get],
    ['POST', post],
  ] as const)(
    'a %s costs one write call each to Redis, the upstream and the client',
    async ([, request], { skip }) => {
      const { key } = await issue();
      await repeat(warmUp, () => request(key), 200);
      const requests = 100;
      const rounds: number[] = [];
      while (rounds.length < 6) {
        const before = await writeCalls();
        if (Number.isNaN(before)) return skip('/proc does not count system calls here');
        await repeat(requests, () => request(key), 200);
        rounds.push(((await writeCalls()) - before) / requests);
      }
      // What a request costs, it costs in each round. While V8 marks its heap step by step, it posts itself a task for each,
      // by a write of its own: 1,000 to 4,000 in a round or two.
      const writes = Math.min(...rounds);
      // The fraction above 3 comes from timers: upstream probes and refreshes of the settings.
      expect(writes).toBeGreaterThan(2.9);
      expect(writes).toBeLessThan(3.9);
    },
  );
});
