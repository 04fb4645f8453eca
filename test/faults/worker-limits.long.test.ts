import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { parseRaw, send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { threeWorkers, workers } from '../support/kits/worker-processes.ts';
import { countOutcomes } from '../support/load/steady-load.ts';

describe('connection limits with several workers', { tags: ['redis-server'] }, () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const request = (key: string) =>
    `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;

  /** A request without its body. An idle connection would give way to another one. */
  const unfinishedRequest = (key: string) =>
    request(key).replace('GET', 'POST').trimEnd() +
    '\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n';

  /** Opens connections one at a time, so that the workers get them round robin. */
  async function openConnections(port: number, count: number, bytes: string): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      // A response that nobody reads would keep a refused one open.
      socket.resume();
      await once(socket, 'connect');
      socket.write(bytes);
      sockets.push(socket);
    }
  }

  test.each([
    ['MAX_CONNECTIONS', 503],
    ['MAX_CONNECTIONS_PER_ADDRESS', 429],
  ])('each worker has its share of %s, rounded up', async (setting, status) => {
    await using kit = await startGatewayKit({ ...threeWorkers, [setting]: '20' });
    const { key } = await kit.issue({ plan: 'business' });
    const { port, adminUrl } = kit.gateway;
    const most = workers * Math.ceil(20 / workers);
    // A busy worker gets fewer than its turn.
    await openConnections(port, 4 * most, unfinishedRequest(key));
    const opened = () => sockets.filter(({ destroyed, readyState }) => !destroyed && readyState === 'open');
    await expect.poll(() => opened().length, { timeout: 5000 }).toBe(most);
    expect((await send(`${adminUrl}/metrics`)).text).toContain(`gateway_connections ${most}\n`);
    const newConnectionStatus = async () => parseRaw(await sendRaw(port, request(key))).status;
    expect(await newConnectionStatus()).toBe(status);
    const responses = opened().map((socket) => once(socket, 'data'));
    for (const socket of opened()) socket.write('{}');
    const lines = (await Promise.all(responses)).map(([bytes]) => String(bytes).split('\r\n')[0] ?? '');
    expect(countOutcomes(lines)).toEqual({ 'HTTP/1.1 200 OK': most });
    await expect.poll(newConnectionStatus).toBe(200);
  });
});
