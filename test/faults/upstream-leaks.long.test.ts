import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, errors, request } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import type { Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { brokenResponses } from '../support/upstreams/broken-responses.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

const total = 5000;
const clients = 150;
/** The state of a request is kilobytes, so leaking it would add tens of megabytes. */
const maxGrowthBytes = 3_000_000;
const expectedStatuses = new Set(['200', '499', '502', '503', '504']);

/** Environment of a service whose heap is to be inspected. */
const inspectorEnvironment = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

const replySchema = z.object({ id: z.number(), result: z.object({ usedSize: z.number().optional() }) });

/** Used bytes of the JavaScript heap after a full garbage collection. */
async function liveHeapBytes(service: Service): Promise<number> {
  const url = /ws:\/\/\S+/.exec(service.output())?.[0];
  if (url === undefined)
    throw new Error('the service has no inspector; start it with `inspectorEnvironment`');
  const socket = new WebSocket(url);
  await once(socket, 'open');
  let id = 0;
  const callInspector = async (method: string) => {
    const requestId = (id += 1);
    socket.send(JSON.stringify({ id: requestId, method }));
    const [{ data }] = (await once(socket, 'message')) as [{ data: unknown }];
    const reply = replySchema.parse(JSON.parse(String(data)));
    if (reply.id !== requestId) throw new Error(`unexpected reply to ${method}`);
    return reply.result.usedSize ?? 0;
  };
  // Objects that one collection finalizes are freed by the next one.
  for (let round = 0; round < 3; round += 1) await callInspector('HeapProfiler.collectGarbage');
  const bytes = await callInspector('Runtime.getHeapUsage');
  const closed = once(socket, 'close');
  socket.close();
  await closed;
  return bytes;
}

describe(`after ${total} broken upstream responses`, { tags: ['linux'], timeout: 400_000 }, () => {
  const kit = shared(() =>
    startGatewayKit({ UPSTREAM_TIMEOUT_MS: '300', LOG_LEVEL: 'fatal', ...inspectorEnvironment }),
  );
  let key: string;
  /** A new one for each round, so that its connections end with the round. */
  let agent: Agent;
  let pets: string;
  let brokenResponsesSent = 0;

  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business', minute: 10_000_000, day: 100_000_000 }));
    pets = `${kit.gateway.url}/v1/pets`;
    kit.upstream.response = (req, res) => {
      kit.upstream.seen.length = 0;
      const broken = brokenResponses[Number(/fault=(\d+)/.exec(req.url ?? '')?.[1] ?? -1)];
      if (broken === undefined) return respondWithPets(req, res);
      brokenResponsesSent += 1;
      broken.response(req, res);
    };
  });

  const openFiles = async () => (await readdir(`/proc/${kit.gateway.pid}/fd`)).length;

  /** Requests every kind of broken response in turn. Every 50th client disconnects early. */
  async function requestBrokenResponses(count: number): Promise<Record<string, number>> {
    const target = brokenResponsesSent + count;
    let next = 0;
    agent = new Agent();
    await using load = startLoad(clients, async () => {
      const index = (next += 1);
      const url = `${pets}?fault=${index % brokenResponses.length}`;
      if (index % 50 === 0) return disconnectEarly(url);
      // Successes in between keep the upstream from being ejected.
      await requestStatus('GET', pets);
      const status = await requestStatus(index % 3 === 0 ? 'POST' : 'GET', url);
      if (status === 503) await sleep(50);
      return status;
    });
    await expect.poll(() => brokenResponsesSent, { timeout: 300_000 }).toBeGreaterThanOrEqual(target);
    const outcomes = await load.stop();
    await agent.close();
    return countOutcomes(outcomes);
  }

  async function requestStatus(method: 'GET' | 'POST', url: string): Promise<number> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = method === 'POST' ? '{"name":"Rex"}' : null;
    const response = await request(url, { method, headers, body, dispatcher: agent });
    try {
      // Throws unless the body is complete and JSON.
      await response.body.json();
      return response.statusCode;
    } catch (error) {
      // A response without a length is streamed, and cut where it breaks.
      if (error instanceof errors.SocketError) return 502;
      throw error;
    }
  }

  async function disconnectEarly(url: string): Promise<number> {
    const { pathname, search } = new URL(url);
    const socket = connect(kit.gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await sleep(20);
    socket.resetAndDestroy();
    return 499;
  }

  test('every request got a response, and no sockets or memory leaked', async () => {
    const filesBefore = await openFiles();
    // Idle connections time out. A readiness probe may be in flight.
    const untilIdle = async () => {
      await expect.poll(openFiles, { timeout: 40_000, interval: 250 }).toBeLessThanOrEqual(filesBefore + 2);
      await expect.poll(() => kit.upstream.connections()).toBeLessThanOrEqual(1);
    };
    // Warm-up: objects that are created once must not count as growth.
    await requestBrokenResponses(1000);
    await untilIdle();
    const heapBefore = await liveHeapBytes(kit.gateway);

    const outcomes = await requestBrokenResponses(total);
    await untilIdle();
    const heapAfter = await liveHeapBytes(kit.gateway);
    console.log(`${JSON.stringify(outcomes)}; live heap: ${heapBefore} bytes before, ${heapAfter} after`);
    expect(Object.keys(outcomes).filter((status) => !expectedStatuses.has(status))).toEqual([]);
    expect(heapAfter - heapBefore).toBeLessThan(maxGrowthBytes);
  });
});
