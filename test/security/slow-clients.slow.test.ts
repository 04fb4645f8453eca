import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { residentBytes } from '../support/checks/resident-memory.ts';
import { parseRaw, postJson, send, sendRaw } from '../support/http/http.ts';
import { createSockets } from '../support/http/open-socket.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { keyIssuer } from '../support/kits/keys.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

let key: string;
let head: string;
const { open, closeAll } = createSockets();
type Connection = ReturnType<typeof open>;

const kit = shared(() =>
  startGatewayKit({
    // A customer may stream two bodies.
    UPSTREAM_CONNECTIONS: '4',
    UPSTREAM_TIMEOUT_MS: '3000',
    KEEP_ALIVE_TIMEOUT_MS: '300',
  }),
);
beforeAll(async () => {
  ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000 }));
  head = `Host: x\r\nAuthorization: Bearer ${key}\r\n`;
});

afterEach(() => {
  kit.upstream.response = respondWithPets;
});

afterAll(closeAll);

const openMany = (count: number, port: number, bytes = '', localAddress?: string) =>
  Array.from({ length: count }, () => open(port, bytes, localAddress));

const metrics = async (gateway: Service) => (await send(`${gateway.adminUrl}/metrics`)).text;
const postHead = (length: number) =>
  `POST /v1/pets HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

describe('slow request bodies', () => {
  // Connections of a failed test would occupy slots in the next one.
  afterEach(closeAll);

  test('occupy no upstream connection: other requests are served, and the slow ones once they are complete', async () => {
    const before = kit.upstream.seen.length;
    const slow = openMany(20, kit.gateway.port, `${postHead(4)}{`);
    for (let index = 0; index < 5; index += 1) {
      expect((await send(`${kit.gateway.url}/v1/pets`, { key })).status).toBe(200);
      expect((await postJson(`${kit.gateway.url}/v1/pets`, key, {})).status).toBe(200);
    }
    expect(kit.upstream.seen.length - before).toBe(10);
    for (const { socket } of slow) socket.write('  }');
    for (const { received } of slow) await expect.poll(received).toMatch(/^HTTP\/1\.1 200 /);
    expect(kit.upstream.seen.length - before).toBe(30);
  });

  test('are limited per customer and in total if they are large: one more gets 503, small ones are served', async () => {
    const size = 40_000;
    const halfRequest = (owner: string) =>
      `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${owner}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${size}\r\n\r\n${' '.repeat(size / 2)}`;
    const body = ' '.repeat(size);
    const postLarge = (owner: string) => postJson(`${kit.gateway.url}/v1/pets`, owner, body);
    const { key: firstKey, customerId } = await kit.issue({ plan: 'business' });
    const owners = await Promise.all(Array.from({ length: 8 }, () => kit.issue({ plan: 'business' })));
    const others = owners.map((issued) => issued.key);
    const lastKey = others.at(-1) ?? '';

    const slow: { owner: string; connection: Connection }[] = [];
    const openSlow = (owner: string) => ({
      owner,
      connection: open(kit.gateway.port, halfRequest(owner)),
    });
    const probe = async (prober: string) => {
      const { status } = await postLarge(prober);
      // A slow request that lost its slot to the probe is sent again.
      for (const [index, { owner, connection }] of slow.entries())
        if (connection.received() !== '') slow[index] = openSlow(owner);
      return status;
    };

    slow.push(...Array.from({ length: 8 }, () => openSlow(firstKey)));
    await expect.poll(() => probe(firstKey), { timeout: 10_000 }).toBe(503);
    const refused = await postLarge(firstKey);
    expect(refused.json).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(refused.header('Retry-After')).toBe('1');
    expect((await postJson(`${kit.gateway.url}/v1/pets`, firstKey, {})).status).toBe(200);

    const further = await keyIssuer(kit.redis).store.issueFor(customerId, {});
    expect((await postLarge(further.key)).status).toBe(503);

    // Each customer has its own slots, up to the total limit.
    expect((await postLarge(lastKey)).status).toBe(200);
    for (const other of others.slice(0, 7)) slow.push(...Array.from({ length: 8 }, () => openSlow(other)));
    await expect.poll(() => probe(lastKey), { timeout: 10_000 }).toBe(503);

    const [completed, aborted] = slow;
    completed?.connection.socket.write(' '.repeat(size / 2));
    await expect.poll(() => completed?.connection.received()).toMatch(/^HTTP\/1\.1 200 /);
    aborted?.connection.socket.destroy();
    await expect.poll(async () => (await postLarge(firstKey)).status).toBe(200);
  });

  test(
    'take no more memory if they are sent byte by byte',
    { tags: ['linux'], timeout: 120_000 },
    async () => {
      const size = 400_000;
      const residentMiB = () => residentBytes(kit.gateway.pid) / 1024 / 1024;
      const before = residentMiB();
      const chunked = `POST /v1/pets HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const slow = openMany(2, kit.gateway.port, chunked + '1\r\nx\r\n'.repeat(size));
      await sleep(1500);
      // Buffered as separate chunks, they would take more than 330 MB.
      expect(residentMiB() - before).toBeLessThan(160);
      for (const { socket } of slow) socket.write('0\r\n\r\n');
      for (const { received } of slow)
        await expect.poll(received, { timeout: 25_000 }).toMatch(/^HTTP\/1\.1 200 /);
      expect(kit.upstream.seen.at(-1)?.body).toBe('x'.repeat(size));
    },
  );
});

describe('with a timeout of 350 ms', () => {
  const gateway = shared(() =>
    startGateway({
      ...kit.env,
      // So responses have 700 ms.
      REQUEST_TIMEOUT_MS: '350',
    }),
  );

  test('a large body may take many times as long, while it moves, and one that stops is 408', async () => {
    const part = ' '.repeat(100_000);
    const moving = open(gateway.port, postHead(9 * part.length));
    const stopping = open(gateway.port, postHead(9 * part.length) + part);
    for (let index = 0; index < 9; index += 1) {
      moving.socket.write(part);
      await sleep(200);
    }
    await expect.poll(moving.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(stopping.received()).toMatch(/^HTTP\/1\.1 408 [^]*"code":"request_timeout"/);
  });

  test('is not read from the upstream if the client stops reading, and both connections are closed', async () => {
    let written = 0;
    let upstreamClosed = false;
    kit.upstream.response = (req, res) => {
      req.socket.once('close', () => {
        upstreamClosed = true;
      });
      res.writeHead(200, { 'content-type': 'application/json' });
      const chunk = 'x'.repeat(64 * 1024);
      const write = () => {
        while (!res.destroyed && written < 256 * 1024 * 1024) {
          written += chunk.length;
          if (!res.write(chunk)) {
            res.once('drain', write);
            return;
          }
        }
        res.end();
      };
      write();
    };
    const { socket } = open(gateway.port, `GET /v1/pets HTTP/1.1\r\n${head}\r\n`);
    socket.pause();
    await expect.poll(() => upstreamClosed).toBe(true);
    // Only the socket buffers of both connections are filled.
    expect(written).toBeLessThan(64 * 1024 * 1024);
    await expect
      .poll(() => metrics(gateway))
      .toMatch(
        /gateway_requests_total\{route="\/v1\/pets",method="GET",status="aborted",plan="business"\} 1/,
      );
  });
});

describe('a connection', () => {
  const get = () => `GET /v1/pets HTTP/1.1\r\n${head}\r\n`;

  test('is closed after the keep-alive timeout', async () => {
    const { received, closed } = open(kit.gateway.port, get());
    await expect.poll(closed).toBe(true);
    expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  });

  test('is closed after 10,000 requests, as the last response announces', { timeout: 60_000 }, async () => {
    const responses = await sendRaw(kit.gateway.port, 'GET /none HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10_002));
    // A body ends without a line's end, so the next response begins in its line.
    expect(responses.match(/HTTP\/1\.1 404/g)).toHaveLength(10_000);
    expect(responses.match(/^Connection: keep-alive/gm)).toHaveLength(9999);
    expect(responses.match(/^Connection: close/gm)).toHaveLength(1);
  });
});

describe.concurrent('connections', () => {
  const start = (env: Record<string, string>) => startGateway({ ...kit.env, ...env });
  const get = () => `GET /v1/pets HTTP/1.1\r\nConnection: close\r\n${head}\r\n`;

  test('over the limit get 503 until another one closes', async ({ expect }) => {
    await using gateway = await start({ MAX_CONNECTIONS: '5' });
    // With a request under way, since idle ones would give way.
    const [first] = openMany(5, gateway.port, postHead(2));
    const refused = parseRaw(await sendRaw(gateway.port, get()));
    expect(refused.json).toEqual({
      code: 'service_unavailable',
      message: 'The gateway has too many connections. Retry shortly.',
      status: 503,
    });
    expect(refused.headers).toMatch(/^Retry-After: 1$/m);
    expect(refused.headers).toMatch(/^Connection: close$/m);
    expect(refused.headers).toMatch(/^X-RateLimit-Limit: 60$/m);
    // A connection without a request is closed without a response.
    expect(await sendRaw(gateway.port, '')).toBe('');
    const text = await metrics(gateway);
    expect(text).toContain('gateway_connections 5');
    expect(text).toContain('gateway_refused_connections_total{limit="total"} 2');
    first?.socket.destroy();
    await expect.poll(async () => parseRaw(await sendRaw(gateway.port, get())).status).toBe(200);
  });

  test('over the limit take the place of those that are idle longest', async ({ expect }) => {
    await using gateway = await start({ MAX_CONNECTIONS: '3' });
    const busy = open(gateway.port, postHead(2));
    const used = open(gateway.port);
    const silent = open(gateway.port);
    used.socket.write(`GET /v1/pets HTTP/1.1\r\n${head}\r\n`);
    await expect.poll(used.received).toMatch(/^HTTP\/1\.1 200 /);
    // Not within a second of their last use.
    await expect.poll(async () => parseRaw(await sendRaw(gateway.port, get())).status).toBe(200);
    expect([busy, used, silent].map(({ closed }) => closed())).toEqual([false, false, true]);
    expect(gateway.output().match(/idle connections are closed for new ones/g)).toHaveLength(1);
    busy.socket.write('{}');
    await expect.poll(busy.received).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('of one address are limited, and other addresses are served', async ({ expect }) => {
    await using gateway = await start({ MAX_CONNECTIONS_PER_ADDRESS: '3' });
    openMany(3, gateway.port);
    const refused = parseRaw(await sendRaw(gateway.port, get()));
    expect(refused.json).toEqual({
      code: 'rate_limit_exceeded',
      message: 'Too many connections from this address. Close some that are idle.',
      status: 429,
    });
    expect(refused.headers).toMatch(/^Retry-After: 1$/m);
    expect(refused.headers).toMatch(/^X-RateLimit-Remaining: 0$/m);
    expect(refused.headers).toMatch(/^RateLimit: "ip";r=0;t=1$/m);
    const other = open(gateway.port, get(), '127.0.0.2');
    await expect.poll(other.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(await metrics(gateway)).toContain('gateway_refused_connections_total{limit="address"} 1');
    const warnings = gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('MAX_CONNECTIONS_PER_ADDRESS'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('"address":"127.0.0.1"');
    const headResponse = await sendRaw(gateway.port, get().replace('GET', 'HEAD'));
    expect(headResponse).toMatch(/^HTTP\/1\.1 429 [^]*\r\n\r\n$/);
  });

  test(
    'to the admin port are limited, and take nothing from the port of the API',
    { tags: ['linux'] },
    async ({ expect }) => {
      const env = { ...kit.env, UPSTREAM_CONNECTIONS: '10' };
      await using gateway = await startGateway(env, { openFiles: 280 });
      const adminPort = Number(new URL(gateway.adminUrl).port);
      const isOpen = ({ closed }: Connection) => !closed();
      const silent = openMany(60, adminPort, '', '127.0.0.2');
      const slow = openMany(240, adminPort, 'GET /metrics HTTP/1.1\r\nX: ', '127.0.0.3');
      await expect.poll(() => [...silent, ...slow].filter(isOpen).length).toBe(100);
      expect(parseRaw(await sendRaw(gateway.port, get())).status).toBe(200);
      // They have a few seconds for their headers.
      await expect.poll(() => [...silent, ...slow].filter(isOpen).length, { timeout: 10_000 }).toBe(0);
      expect(slow.some(({ received }) => received().startsWith('HTTP/1.1 408 '))).toBe(true);
      expect((await send(`${gateway.adminUrl}/readyz`)).status).toBe(200);
    },
  );

  test('of trusted proxies are not limited per address', async ({ expect }) => {
    await using gateway = await start({ MAX_CONNECTIONS_PER_ADDRESS: '3', TRUST_PROXY: '127.0.0.1' });
    openMany(10, gateway.port);
    expect(parseRaw(await sendRaw(gateway.port, get())).status).toBe(200);
  });
});
