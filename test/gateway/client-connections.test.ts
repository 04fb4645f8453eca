import { connect } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openRawConnection, statusesOf } from '../support/http/raw-connection.ts';
import { valuesOf, type Message } from '../support/http/strict-http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

const connectionsOf = (messages: Message[]) =>
  messages.map(({ headers }) => valuesOf(headers, 'connection').join().toLowerCase());

let key: string;

// Longer than a test may take.
const kit = shared(() => startGatewayKit({ UPSTREAM_TIMEOUT_MS: '60000' }));
beforeAll(async () => {
  ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 1_000_000 }));
});

afterEach(() => {
  kit.upstream.response = respondWithPets;
});

const authorized = () => `Authorization: Bearer ${key}\r\n`;
const get = (path: string, lines = authorized(), version = '1.1') =>
  `GET ${path} HTTP/${version}\r\nHost: x\r\n${lines}\r\n`;

/** Lets the upstream respond to requests, with their target, only when the returned function is called. */
function holdUpstream(): () => void {
  const held: (() => void)[] = [];
  let isHolding = true;
  kit.upstream.response = (req, res) => {
    const respond = () => {
      const body = JSON.stringify([req.url]);
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      res.writeHead(200, headers).end(body);
    };
    if (isHolding) held.push(respond);
    else respond();
  };
  return () => {
    isHolding = false;
    for (const respond of held) respond();
  };
}

describe('a connection on which Upgrade was sent', () => {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

  test.each<[string, () => string, number]>([
    ['a request with a key', () => get('/v1/pets', authorized() + upgrade), 200],
    ['a request without a key', () => get('/v1/pets', upgrade), 401],
    ['a request to an unknown path', () => get('/v1/nothing', authorized() + upgrade), 404],
    ['OPTIONS', () => get('/v1/pets', upgrade).replace('GET', 'OPTIONS'), 204],
    [
      'HTTP/1.0 with keep-alive',
      () => get('/v1/pets', `${authorized()}Connection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n`, '1.0'),
      200,
    ],
  ])('is closed after the response: %s', async (_name, request, status) => {
    const seen = kit.upstream.seen.length;
    const connection = openRawConnection(kit.gateway.port);
    connection.write(request() + get('/v1/pets?second'));
    const responses = await connection.responses;
    expect(statusesOf(responses)).toEqual([status]);
    expect(connectionsOf(responses)).toEqual(['close']);
    expect(kit.upstream.seen.slice(seen).filter(({ url }) => url.includes('second'))).toEqual([]);
  });

  test('serves earlier requests, and drops all later ones', async () => {
    const release = holdUpstream();
    const seen = kit.upstream.seen.length;
    const connection = openRawConnection(kit.gateway.port);
    connection.write(get('/v1/pets?n=1') + get('/v1/pets?n=2', authorized() + upgrade));
    await expect.poll(() => kit.upstream.seen.length - seen).toBe(1);
    for (let index = 0; index < 200; index += 1) connection.write(get('/v1/pets?later').repeat(100));
    release();
    const responses = await connection.responses;
    expect(responses.map(({ body }) => body)).toEqual(['["/v1/pets?n=1"]', '["/v1/pets?n=2"]']);
    expect(connectionsOf(responses)).toEqual(['keep-alive', 'close']);
    expect(kit.upstream.seen.slice(seen).filter(({ url }) => url.includes('later'))).toEqual([]);
  });
});

describe('pipelined requests', () => {
  test.each([150, 1000])('%i at once are all served, in order', async (count) => {
    const connection = openRawConnection(kit.gateway.port);
    kit.upstream.response = (req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([req.url]));
    };
    const last = get(`/v1/pets?n=${count - 1}`, `${authorized()}Connection: close\r\n`);
    const others = Array.from({ length: count - 1 }, (_, index) => get(`/v1/pets?n=${index}`));
    connection.write([...others, last].join(''));
    const responses = await connection.responses;
    expect(responses.map(({ body }) => body)).toEqual(
      Array.from({ length: count }, (_, index) => `["/v1/pets?n=${index}"]`),
    );
  });

  test('are not read while many wait, however many a client sends', async () => {
    const release = holdUpstream();
    const seen = kit.upstream.seen.length;
    const socket = connect(kit.gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(get('/v1/pets'));
    await expect.poll(() => kit.upstream.seen.length - seen).toBe(1);
    // More than the buffers of both sockets can hold.
    const megabyte = get('/v1/pets').repeat(10_000);
    for (let index = 0; index < 32; index += 1) socket.write(megabyte);
    // Bytes that neither the gateway nor the kernel takes stay with the client.
    let waiting = -1;
    await expect
      .poll(() => {
        const before = waiting;
        waiting = socket.writableLength;
        return waiting === before;
      })
      .toBe(true);
    expect(waiting).toBeGreaterThan(megabyte.length);
    socket.resetAndDestroy();
    release();
  });
});
