import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { parseRaw, send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { threeWorkers, waitForWorkers, workers } from '../support/kits/worker-processes.ts';
import { countOutcomes } from '../support/load/steady-load.ts';

describe('connection limits with several workers', { tags: ['redis-server'] }, () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const request = (key: string) =>
    `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;

  /** A request without its body. An idle connection would give way to another one. */
  const unfinishedRequest = (key: string, length = 2) =>
    request(key).replace('GET', 'POST').trimEnd() +
    `\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

  /** Opens connections one at a time, so that the workers get them round robin. */
  async function openConnections(port: number, count: number, bytes: string): Promise<Socket[]> {
    const opened: Socket[] = [];
    for (let index = 0; index < count; index += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(bytes);
      opened.push(socket);
    }
    sockets.push(...opened);
    return opened;
  }

  test.each([
    ['MAX_CONNECTIONS', 503],
    ['MAX_CONNECTIONS_PER_ADDRESS', 429],
  ])('%s applies across all workers, and no connection is refused below it', async (setting, status) => {
    await using kit = await startGatewayKit({ ...threeWorkers, [setting]: '20' });
    const { key } = await kit.issue({ plan: 'business' });
    const { port, adminUrl } = kit.gateway;
    // Closes one worker's connections, so that the others end up with more than a third of the limit.
    const firstConnections = await openConnections(port, 12, unfinishedRequest(key));
    for (const socket of firstConnections.filter((_, index) => index % workers === 0)) socket.destroy();
    await expect
      .poll(async () => (await send(`${adminUrl}/metrics`)).text)
      .toContain('gateway_connections 8\n');
    // Workers exchange their counts with a delay.
    await sleep(500);
    await openConnections(port, 12, unfinishedRequest(key));
    const opened = sockets.filter(({ destroyed }) => !destroyed);
    expect(opened).toHaveLength(20);
    const newConnectionStatus = async () => parseRaw(await sendRaw(port, request(key))).status;
    await expect.poll(newConnectionStatus).toBe(status);
    const responses = opened.map((socket) => once(socket, 'data'));
    for (const socket of opened) socket.write('{}');
    const lines = (await Promise.all(responses)).map(([bytes]) => String(bytes).split('\r\n')[0] ?? '');
    expect(countOutcomes(lines)).toEqual({ 'HTTP/1.1 200 OK': 20 });
    // Connections that close free their places, and so do those of a worker that dies.
    await expect.poll(newConnectionStatus).toBe(200);
    await expect
      .poll(async () => {
        await openConnections(port, 5, unfinishedRequest(key));
        return newConnectionStatus();
      })
      .toBe(status);
    const [pid] = await waitForWorkers(kit.gateway, workers);
    process.kill(pid, 'SIGKILL');
    await expect.poll(newConnectionStatus).toBe(200);
  });

  test('the limit of large bodies per customer applies across all workers', async () => {
    await using kit = await startGatewayKit(threeWorkers);
    const { key } = await kit.issue({ plan: 'business' });
    const size = 40_000;
    const headers = { connection: 'close', 'content-type': 'application/json' };
    const newPostStatus = async () => {
      const body = ' '.repeat(size);
      return (await send(`${kit.gateway.url}/v1/pets`, { method: 'POST', key, headers, body })).status;
    };
    const firstHalf = unfinishedRequest(key, size) + ' '.repeat(size / 2);
    const slowUploads = await openConnections(kit.gateway.port, 8, firstHalf);
    await expect.poll(newPostStatus).toBe(503);
    const responses = slowUploads.map((socket) => once(socket, 'data'));
    for (const socket of slowUploads) socket.write(' '.repeat(size / 2));
    const lines = (await Promise.all(responses)).map(([bytes]) => String(bytes).split('\r\n')[0] ?? '');
    expect(countOutcomes(lines)).toEqual({ 'HTTP/1.1 200 OK': 8 });
    await expect.poll(newPostStatus).toBe(200);
  });
});
