import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { monitorRedis, type MonitoredCommand } from '../support/stores/redis-monitor.ts';

/*
 * What one request costs in things that can be counted, so that no change adds a round trip, a write or a step of the
 * script unnoticed. Times are for the benchmark (test/bench/).
 */

const warmUp = 20;

describe('what a request costs', { tags: ['redis-server'] }, () => {
  let kit: GatewayKit;

  beforeAll(async () => {
    // Log lines are written together, so how many writes they take depends on how fast this machine is.
    kit = await startGatewayKit({ LOG_LEVEL: 'warn' });
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const issue = () => kit.issue({ plan: 'enterprise', minute: 100_000, day: 100_000 });
  const get = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });
  const post = (key: string) => postJson(`${kit.gateway.url}/v1/pets`, key, { name: 'Rex', categoryId: 1 });

  /** Commands that name the key, from the gateway itself and, as `lua`, those that its script gives. */
  async function commandsOf(keyHash: string, requests: () => Promise<void>): Promise<Record<string, number>> {
    const monitor = await monitorRedis(kit.server.port);
    await requests();
    await kit.redis.echo('the end');
    const isEnd = ({ args }: MonitoredCommand) => args[0] === 'echo' && args[1] === 'the end';
    await expect.poll(() => monitor.commands.some(isEnd)).toBe(true);
    monitor.close();
    const counts: Record<string, number> = {};
    for (const { args, source } of monitor.commands) {
      if (!args.some((arg) => arg.includes(keyHash))) continue;
      const name = `${source === 'lua' ? 'lua ' : ''}${args[0]?.toLowerCase()}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  async function repeat(times: number, request: () => Promise<{ status: number }>, status: number) {
    for (let index = 0; index < times; index += 1) expect((await request()).status).toBe(status);
  }

  test('one Redis command and six steps of the script for a request that is served', async () => {
    const { key, keyHash } = await issue();
    await repeat(warmUp, () => get(key), 200);
    const requests = 50;
    expect(await commandsOf(keyHash, () => repeat(requests, () => get(key), 200))).toEqual({
      evalsha: requests,
      'lua hget': requests,
      'lua mget': requests,
      // Of the ban, and of the minute window.
      'lua pttl': 2 * requests,
      // Of the minute, and of the day.
      'lua incr': 2 * requests,
    });
  });

  test('one command more for a key that is met for the first time', async () => {
    const { key, keyHash } = await issue();
    const counts = await commandsOf(keyHash, () => repeat(1, () => get(key), 200));
    expect(counts).toMatchObject({ hgetall: 1, evalsha: 1 });
  });

  test('no more for a request that is refused', async () => {
    const { key, keyHash } = await kit.issue({ plan: 'enterprise', minute: 1, day: 100_000 });
    await repeat(1, () => get(key), 200);
    const requests = 50;
    const { evalsha, ...inScript } = await commandsOf(keyHash, () => repeat(requests, () => get(key), 429));
    expect(evalsha).toBe(requests);
    const ofGateway = Object.keys(inScript).filter((name) => !name.startsWith('lua '));
    expect(ofGateway).toEqual([]);
  });

  test('for a banned key at most a command a second', async () => {
    const { key, keyHash } = await issue();
    await kit.redis.set(redisKeys.ban(keyHash), '1', 'EX', 60);
    await repeat(1, () => get(key), 429);
    const startedAt = performance.now();
    const counts = await commandsOf(keyHash, () => repeat(200, () => get(key), 429));
    const seconds = Math.ceil((performance.now() - startedAt) / 1000);
    expect(counts['evalsha'] ?? 0).toBeLessThanOrEqual(seconds);
  });

  /** Calls of read and write by the gateway, of any file or connection. Linux alone tells. */
  async function systemCalls(): Promise<{ reads: number; writes: number } | undefined> {
    const text = await readFile(`/proc/${kit.gateway.pid}/io`, 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const valueOf = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1]);
    return { reads: valueOf('syscr'), writes: valueOf('syscw') };
  }

  test.for([
    { name: 'GET', request: get },
    { name: 'POST', request: post },
  ])('$name: one write each to Redis, to the upstream and to the client', async ({ request }, { skip }) => {
    const { key } = await issue();
    await repeat(warmUp, () => request(key), 200);
    const before = await systemCalls();
    if (before === undefined) return skip('/proc does not tell about system calls here');
    const requests = 400;
    await repeat(requests, () => request(key), 200);
    const after = await systemCalls();
    const writes = ((after?.writes ?? 0) - before.writes) / requests;
    // What else there is, probes of the upstream and settings read anew, comes by time and not by requests.
    expect(writes).toBeGreaterThan(2.9);
    expect(writes).toBeLessThan(3.9);
  });
});
