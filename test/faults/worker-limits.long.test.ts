import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { parseRaw, send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { threeWorkers, untilWorkers, workers } from '../support/kits/worker-processes.ts';
import { tally } from '../support/load/steady-load.ts';

describe('limits of connections of several workers', { tags: ['redis-server'] }, () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const request = (key: string) =>
    `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;

  /** One after another, so that they go to the workers in turn. */
  async function open(port: number, count: number): Promise<Socket[]> {
    const opened: Socket[] = [];
    for (let index = 0; index < count; index += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      opened.push(socket);
    }
    sockets.push(...opened);
    return opened;
  }

  test.each([
    ['MAX_CONNECTIONS', 503],
    ['MAX_CONNECTIONS_PER_ADDRESS', 429],
  ])('%s is kept by all workers together, and refuses nobody before its time', async (setting, status) => {
    await using kit = await startGatewayKit({ ...threeWorkers, [setting]: '20' });
    const { key } = await kit.issue({ plan: 'business' });
    const { port, adminUrl } = kit.gateway;
    // All that one of the workers has are closed: the others come to have more than their part.
    const first = await open(port, 12);
    for (const socket of first.filter((_, index) => index % workers === 0)) socket.destroy();
    await expect
      .poll(async () => (await send(`${adminUrl}/metrics`)).text)
      .toContain('gateway_connections 8\n');
    // The other workers hear of it a moment later.
    await sleep(500);
    await open(port, 12);
    const opened = sockets.filter(({ destroyed }) => !destroyed);
    expect(opened).toHaveLength(20);
    const oneMore = async () => parseRaw(await sendRaw(port, request(key))).status;
    await expect.poll(oneMore).toBe(status);
    const responses = opened.map((socket) => once(socket, 'data'));
    for (const socket of opened) socket.write(request(key));
    const lines = (await Promise.all(responses)).map(([bytes]) => String(bytes).split('\r\n')[0] ?? '');
    expect(tally(lines)).toEqual({ 'HTTP/1.1 200 OK': 20 });
    // They are closed, and there is room again; as there is for those of a worker that ends.
    await expect.poll(oneMore).toBe(200);
    await expect.poll(async () => (await open(port, 5)) && oneMore()).toBe(status);
    const [doomed] = await untilWorkers(kit.gateway, workers);
    process.kill(doomed, 'SIGKILL');
    await expect.poll(oneMore).toBe(200);
  });

  test('large bodies of a key are few in all workers together', async () => {
    await using kit = await startGatewayKit(threeWorkers);
    const { key } = await kit.issue({ plan: 'business' });
    const size = 40_000;
    const headers = { connection: 'close', 'content-type': 'application/json' };
    const oneMore = async () => {
      const body = ' '.repeat(size);
      return (await send(`${kit.gateway.url}/v1/pets`, { method: 'POST', key, headers, body })).status;
    };
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const slow = await open(kit.gateway.port, 8);
    for (const socket of slow) socket.write(`${head}Content-Length: ${size}\r\n\r\n${' '.repeat(size / 2)}`);
    await expect.poll(oneMore).toBe(503);
    const responses = slow.map((socket) => once(socket, 'data'));
    for (const socket of slow) socket.write(' '.repeat(size / 2));
    const lines = (await Promise.all(responses)).map(([bytes]) => String(bytes).split('\r\n')[0] ?? '');
    expect(tally(lines)).toEqual({ 'HTTP/1.1 200 OK': 8 });
    await expect.poll(oneMore).toBe(200);
  });
});
