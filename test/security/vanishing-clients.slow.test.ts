import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { errorLinesOf } from '../support/checks/alarms.ts';
import { send, sendRaw } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { shared } from '../support/kits/shared.ts';

const both = shared(() => startBothServices({ LOG_LEVEL: 'warn' }));

/** Sends the bytes and resets the connection after the delay. */
async function sendAndVanish(port: number, bytes: string, afterMs: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(Buffer.from(bytes, 'latin1'));
  await new Promise((resolve) => socket.once('connect', resolve));
  if (afterMs > 0) await sleep(afterMs);
  socket.resetAndDestroy();
}

describe.each(['gateway', 'petsService'] as const)('a client of the %s', (name) => {
  const credentials = () => `Authorization: Bearer ${name === 'gateway' ? both.key : both.token}\r\n`;
  const get = () => `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${credentials()}\r\n`;
  const post = () =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${credentials()}Content-Type: application/json\r\n`;
  const connectRequest = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

  test.each<[string, () => string]>([
    ['a request', get],
    // With all rounds together less than the 1,000 that the pets service lets wait for its database.
    ['many requests', () => get().repeat(15)],
    ['half a request', () => get().slice(0, 40)],
    ['half a body', () => `${post()}Content-Length: 100\r\n\r\n{`],
    [
      'a body that waits for 100 Continue',
      () => `${post()}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n`,
    ],
    ['an invalid chunk', () => `${post()}Transfer-Encoding: chunked\r\n\r\nx\r\n`],
    ['CONNECT', () => connectRequest],
    ['CONNECT after another request', () => get() + connectRequest],
    [
      'CONNECT after a request that closes the connection',
      () => get().replace('Host', 'Connection: close\r\nHost') + connectRequest,
    ],
    ['CONNECT twice after an invalid request', () => `NONSENSE\r\n\r\n${connectRequest}${connectRequest}`],
    ['an Upgrade', () => get().replace('Host', 'Connection: Upgrade\r\nUpgrade: websocket\r\nHost')],
    ['a TLS handshake', () => '\x16\x03\x01\x00'],
  ])('that sends %s and resets the connection does no harm', async (_name, make) => {
    const service = both[name];
    const rounds = Array.from({ length: 60 }, (_, index) => sendAndVanish(service.port, make(), index % 4));
    await Promise.all(rounds);
    const path = `${service.url}/v1/pets`;
    expect((await send(path, { key: name === 'gateway' ? both.key : both.token })).status).toBe(200);
    expect(errorLinesOf(service)).toEqual([]);
  });
});

test('CONNECT is refused after the responses to earlier requests', async () => {
  const get = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${both.key}\r\n\r\n`;
  const responses = await sendRaw(both.gateway.port, `${get}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n${get}`);
  expect(responses.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 405']);
});
