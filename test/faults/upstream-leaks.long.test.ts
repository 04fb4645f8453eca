import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inspectable, liveHeapBytes } from '../support/checks/live-heap.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { startLoad, tally } from '../support/load/steady-load.ts';
import { brokenResponses } from '../support/upstreams/broken-responses.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

const total = 10_000;
const clients = 150;
/** What belongs to one request is kilobytes: a leak of it would be tens of megabytes. */
const maxGrowthBytes = 3_000_000;
const whole = new Set(['200', '499', '502', '503', '504']);

describe(`after ${total} requests that met a broken upstream`, { tags: ['linux'], timeout: 400_000 }, () => {
  let kit: GatewayKit;
  let key: string;
  /** Of the clients of one round, whose connections end with it. */
  let agent: Agent;
  let pets: string;
  /** Requests that the upstream has had a broken answer for. */
  let met = 0;

  beforeAll(async () => {
    kit = await startGatewayKit({ UPSTREAM_TIMEOUT_MS: '300', LOG_LEVEL: 'fatal', ...inspectable });
    ({ key } = await kit.issue({ plan: 'business', minute: 10_000_000, day: 100_000_000 }));
    pets = `${kit.gateway.url}/v1/pets`;
    kit.upstream.response = (req, res) => {
      kit.upstream.seen.length = 0;
      const broken = brokenResponses[Number(/fault=(\d+)/.exec(req.url ?? '')?.[1] ?? -1)];
      if (broken === undefined) return respondWithPets(req, res);
      met += 1;
      broken.response(req, res);
    };
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const openFiles = async () => (await readdir(`/proc/${kit.gateway.pid}/fd`)).length;

  /** Every kind of broken answer in turn; now and then a client that does not wait for it. */
  async function meetBrokenResponses(wanted: number): Promise<Record<string, number>> {
    const until = met + wanted;
    let next = 0;
    agent = new Agent();
    await using load = startLoad(clients, async () => {
      const index = (next += 1);
      const url = `${pets}?fault=${index % brokenResponses.length}`;
      if (index % 50 === 0) return leaveEarly(url);
      // Good ones in between, lest the upstream is down and ejected and nothing is tried.
      await exchange('GET', pets);
      const status = await exchange(index % 3 === 0 ? 'POST' : 'GET', url);
      if (status === 503) await sleep(50);
      return status;
    });
    await expect.poll(() => met, { timeout: 300_000 }).toBeGreaterThanOrEqual(until);
    const outcomes = await load.stop();
    await agent.close();
    return tally(outcomes);
  }

  async function exchange(method: 'GET' | 'POST', url: string): Promise<number> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = method === 'POST' ? '{"name":"Rex"}' : null;
    const response = await request(url, { method, headers, body, dispatcher: agent });
    // Whole, and JSON, or else it throws.
    await response.body.json();
    return response.statusCode;
  }

  async function leaveEarly(url: string): Promise<number> {
    const { pathname, search } = new URL(url);
    const socket = connect(kit.gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await sleep(20);
    socket.destroy();
    return 499;
  }

  test('all had an answer, no socket is open that was not before, and no memory is held', async () => {
    const filesBefore = await openFiles();
    // Idle connections end by themselves. A probe may be under way.
    const untilQuiet = async () => {
      await expect.poll(openFiles, { timeout: 40_000, interval: 250 }).toBeLessThanOrEqual(filesBefore + 2);
      await expect.poll(() => kit.upstream.connections()).toBeLessThanOrEqual(1);
    };
    // What is made once is made.
    await meetBrokenResponses(1000);
    await untilQuiet();
    const heapBefore = await liveHeapBytes(kit.gateway);

    const outcomes = await meetBrokenResponses(total);
    await untilQuiet();
    const heapAfter = await liveHeapBytes(kit.gateway);
    console.log(`${JSON.stringify(outcomes)}; live heap: ${heapBefore} bytes before, ${heapAfter} after`);
    expect(Object.keys(outcomes).filter((status) => !whole.has(status))).toEqual([]);
    expect(heapAfter - heapBefore).toBeLessThan(maxGrowthBytes);
  });
});
