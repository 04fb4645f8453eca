import { createServer, ServerResponse, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { errorLinesOf } from '../support/checks/alarms.ts';
import { send } from '../support/http/http.ts';
import { listening } from '../support/http/listening.ts';
import { createSockets } from '../support/http/open-socket.ts';
import { startGateway } from '../support/kits/service.ts';
import { startServicesKit } from '../support/kits/services-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { brokenResponses } from '../support/upstreams/broken-responses.ts';

/*
 * What slow-clients, vanishing-clients and upstream-faults show of small bodies, of streams: uploads, downloads and
 * WebSockets of a service that is known by its path.
 */

const connections = 4;
const timeoutMs = 1000;
const maxBodyBytes = 100_000_000;
const part = 'x'.repeat(200_000);

const { open: openSocket, closeAll } = createSockets();
const atService = new Set<Socket>();
let respond: RequestListener;
/** Of a customer that has no streams. */
let key: string;

/** Accepts a handshake, and then says nothing. */
const accept = ({ socket }: IncomingMessage) =>
  void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
let upgrade: (req: IncomingMessage) => void = accept;

const kit = shared(() =>
  startServicesKit(async (stack) => {
    const server = createServer((req, res) => (req.url === '/readyz' ? res.end() : respond(req, res)));
    server.on('connection', (socket: Socket) => {
      atService.add(socket);
      socket.on('error', () => {}).on('close', () => atService.delete(socket));
    });
    server.on('upgrade', (req, socket: Socket) => {
      socket
        .on('error', () => {})
        .on('end', () => socket.end())
        .resume();
      upgrade(req);
    });
    const { url } = stack.use(await listening(server));
    return {
      services: {
        live: { urls: [url], paths: ['/live'], upgrade: true, timeoutMs, connections, maxBodyBytes },
      },
    };
  }),
);
beforeAll(async () => {
  ({ key } = await kit.issue({ plan: 'business', minute: 100_000 }));
});
afterEach(() => {
  upgrade = accept;
  closeAll();
});

const head = (of: string, method: string, ...fields: string[]) =>
  [`${method} /live/a HTTP/1.1`, 'Host: x', `Authorization: Bearer ${of}`, ...fields, '', ''].join('\r\n');

const handshake = (of: string) =>
  head(of, 'GET', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13');
const upload = (of: string) =>
  `${head(of, 'PUT', 'Transfer-Encoding: chunked')}${part.length.toString(16)}\r\n${part}\r\n`;
const get = (of: string) => head(of, 'GET');

/** How a stream begins at both sides. */
const streams: Record<string, { bytes: (of: string) => string; begun: RegExp; respond: RequestListener }> = {
  'an upload': { bytes: upload, begun: /^/, respond: (req) => void req.resume() },
  'an event stream': {
    bytes: get,
    begun: /data: 1/,
    respond: (_req, res) => {
      const timer = setInterval(() => res.write('data: 1\n\n'), 100);
      res.writeHead(200, { 'content-type': 'text/event-stream' }).once('close', () => clearInterval(timer));
    },
  },
  'a large download': {
    bytes: get,
    begun: /xxx/,
    respond: (_req, res) => {
      const timer = setInterval(() => res.writableNeedDrain || res.write(part), 50);
      res.once('close', () => clearInterval(timer));
    },
  },
  'a WebSocket': { bytes: handshake, begun: / 101 /, respond: () => {} },
};

const open = (bytes: string, port = kit.gateway.port) => openSocket(port, bytes);
const answerAtOnce: RequestListener = (_req, res) => void res.end('ok');
const statusOf = async (of: string) => (await send(`${kit.gateway.url}/live/a`, { key: of })).status;
const newKey = async () => (await kit.issue({ plan: 'business' })).key;

describe.each(Object.entries(streams))('%s', (name, { bytes, begun, respond: serve }) => {
  test('of one customer, in any number, leaves connections for others', async () => {
    const owner = await newKey();
    respond = serve;
    const opened = Array.from({ length: 2 * connections }, () => open(bytes(owner)));
    const isSettled = () => opened.every(({ received }) => name === 'an upload' || received() !== '');
    await expect.poll(isSettled).toBe(true);
    // WebSockets have connections of their own.
    const further =
      name === 'a WebSocket' ? begun : / 429 [^]*Too many uploads and downloads are under way\./;
    const all = () => opened.map(({ received }) => received()).join('');
    await expect.poll(all).toMatch(further);
    for (const { socket } of opened) socket.pause();
    respond = answerAtOnce;
    await expect.poll(() => statusOf(key)).toBe(200);
    for (const { socket } of opened) socket.destroy();
    await expect.poll(() => statusOf(owner)).toBe(200);
  });

  test('whose client vanishes ends at the service, without an error', async () => {
    respond = serve;
    for (let round = 0; round < 20; round += 1) {
      const { socket, received } = open(bytes(await newKey()));
      await expect.poll(received).toMatch(round % 2 === 0 ? begun : /^/);
      socket.resetAndDestroy();
    }
    respond = answerAtOnce;
    await expect.poll(() => statusOf(key)).toBe(200);
    // One is kept for further requests.
    await expect.poll(() => atService.size, { timeout: 15_000 }).toBeLessThanOrEqual(1);
    expect(errorLinesOf(kit.gateway)).toEqual([]);
  });

  test('keeps its connection while others need one, and ends when the gateway stops', async () => {
    const settings = { MAX_CONNECTIONS: '2', SHUTDOWN_DELAY_MS: '100', SHUTDOWN_TIMEOUT_MS: '1000' };
    await using small = await startGateway({ ...kit.env, ...settings });
    respond = serve;
    const stream = open(bytes(await newKey()), small.port);
    await expect.poll(stream.received).toMatch(begun);
    respond = answerAtOnce;
    const served = async () => {
      const { received } = open(get(key), small.port);
      await expect.poll(received).toMatch(/^HTTP/);
      return received();
    };
    // The second takes the place of the first, once that is idle for a second.
    for (let index = 0; index < 2; index += 1)
      await expect.poll(served, { interval: 300 }).toMatch(/^HTTP\/1\.1 200 /);
    expect(stream.closed()).toBe(false);
    small.signal('SIGTERM');
    await expect.poll(stream.closed).toBe(true);
    expect(await small.exited).toBe(0);
  });
});

describe('a service', () => {
  test.each(['at all', 'to its end'])('that does not read an upload %s leads to 504', async (until) => {
    respond = (req) => void (until === 'at all' ? req.pause() : req.once('data', () => req.pause()));
    const { socket, received } = open(head(key, 'PUT', 'Content-Length: 50000000'));
    socket.write(Buffer.alloc(50_000_000));
    await expect.poll(received).toMatch(/^HTTP\/1\.1 504 [^]*upstream_timeout/);
  });

  test.each(brokenResponses)(
    'that sends $name for an upload or a handshake leads to $status',
    async (broken) => {
      const owner = await newKey();
      // After failures in a row, the service counts as down for a moment.
      respond = answerAtOnce;
      await expect.poll(() => statusOf(key)).toBe(200);
      respond = (req, res) => broken.response(req.resume(), res);
      upgrade = (req) => broken.response(req, new ServerResponse(req));
      const clients = [open(`${upload(owner)}0\r\n\r\n`)];
      // Node has no response for a handshake, so only what is sent as bytes.
      if (broken.response.length < 2) clients.push(open(handshake(owner)));
      for (const [index, { received }] of clients.entries()) {
        const isSwitch = broken.name === 'a switch to another protocol' && index === 1;
        const status = isSwitch ? 101 : broken.status === 'cut' ? 200 : broken.status;
        await expect.poll(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      }
    },
  );
});
