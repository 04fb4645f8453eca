import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer, type ClientOptions } from 'ws';
import { residentBytes } from '../support/checks/resident-memory.ts';
import { send, sendRaw } from '../support/http/http.ts';
import { listening } from '../support/http/listening.ts';
import { runOps, startGateway, type Service } from '../support/kits/service.ts';
import { startServicesKit } from '../support/kits/services-kit.ts';
import { shared } from '../support/kits/shared.ts';

const megabyte = 1024 * 1024;

describe('a service with upgrade: true', () => {
  const echo = new WebSocketServer({ noServer: true, maxPayload: 100 * megabyte });
  /** What the service saw last, but for probes. */
  let headers: Record<string, unknown> = {};

  const kit = shared(() =>
    startServicesKit(async (stack) => {
      const respond: RequestListener = (req, res) => {
        const isProbe = req.url === '/readyz';
        if (!isProbe) ({ headers } = req);
        res.writeHead(isProbe ? 200 : 418).end(req.url);
      };
      const server = createServer(respond);
      server.on('upgrade', (req, socket, head) => {
        ({ headers } = req);
        // The gateway may have given up.
        socket.on('error', () => {});
        if (req.url === '/live/refused') {
          socket.end('HTTP/1.1 409 Conflict\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno');
        } else if (req.url === '/live/open') {
          socket.write(
            'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
          );
          // Ends never, as long as nobody ends it.
          socket.on('data', (chunk) => socket.write(chunk));
        } else if (req.url !== '/live/silent') {
          echo.handleUpgrade(req, socket, head, (client) => echo.emit('connection', client, req));
        }
      });
      echo.on('connection', (client, req) => {
        if (req.url === '/live/end') client.close(4001, 'bye');
        client.on('message', (data, isBinary) => client.send(data, { binary: isBinary }));
      });
      const listen = async (target: Server) => stack.use(await listening(target)).url;
      const url = await listen(server);
      const services = {
        live: { urls: [url], paths: ['/live'], upgrade: true, timeoutMs: 1000 },
        plain: { urls: [await listen(createServer(respond))], paths: ['/plain'] },
      };
      return { services };
    }),
  );
  let key: string;
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business' }));
  });

  function open(path: string, options: ClientOptions & { key?: string; from?: Service } = {}): WebSocket {
    const { from = kit.gateway, ...rest } = options;
    const socket = new WebSocket(`${from.url.replace('http', 'ws')}${path}`, {
      headers: { authorization: `Bearer ${options.key ?? key}` },
      ...rest,
    });
    socket.on('error', () => {});
    onTestFinished(() => socket.terminate());
    return socket;
  }

  const upgradeRequest = (path: string, upgrade: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n`;
  const opened = (socket: WebSocket) => new Promise((resolve) => socket.once('open', resolve));
  const closed = (socket: WebSocket) => new Promise((resolve) => socket.once('close', resolve));
  const refused = (socket: WebSocket) =>
    new Promise<{ status: number | undefined; headers: Record<string, unknown>; text: string }>(
      (resolve, reject) => {
        socket.once('open', () => reject(new Error('it was opened')));
        socket.once('unexpected-response', (_req, res) => {
          // Long enough for all buffers on the way to fill.
          setTimeout(() => res.resume(), 300);
          let text = '';
          res.on('data', (chunk: Buffer) => (text += chunk.toString())).pause();
          res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, text }));
        });
      },
    );

  test('has WebSockets, which cost one unit, in the name of the caller', async () => {
    const { key: own } = await kit.issue({ plan: 'business' });
    const socket = open('/live/echo?a=1', { key: own });
    const upgrade = new Promise<Record<string, unknown>>((resolve) =>
      socket.once('upgrade', (res) => resolve(res.headers)),
    );
    await opened(socket);
    expect(await upgrade).toMatchObject({
      'x-ratelimit-remaining': '999',
      'x-request-id': expect.any(String),
    });
    expect(headers).toMatchObject({ authorization: expect.stringMatching(/^Bearer ey/) });
    expect(JSON.stringify(headers)).not.toContain(own);
    for (const message of ['hello', 'x'.repeat(70_000), Buffer.alloc(5 * megabyte, 7)]) {
      const echoed = new Promise<Buffer>((resolve) =>
        socket.once('message', (data) => resolve(data as Buffer)),
      );
      socket.send(message);
      expect((await echoed).equals(Buffer.from(message))).toBe(true);
    }
    expect((await send(`${kit.gateway.url}/live/usage`, { key: own })).json).toMatchObject({
      minute: { used: 1 },
    });
    socket.close(4000, 'done');
    expect(await closed(socket)).toBe(4000);
    await expect
      .poll(() => kit.gateway.output())
      .toMatch(/"route":"\/live\/\*","upstreamService":"live","status":101,"keyId"/);
  });

  test('ends them as it likes, and its refusals pass', async () => {
    expect(await closed(open('/live/end'))).toBe(4001);
    expect(await refused(open('/live/refused'))).toMatchObject({
      status: 409,
      text: 'no',
      headers: { 'x-ratelimit-limit': '1000' },
    });
  });

  test('that is silent or dead gets an Error body as for any request', async () => {
    expect(await refused(open('/live/silent'))).toMatchObject({
      status: 504,
      text: expect.stringContaining('"code":"upstream_timeout"'),
    });
  });

  test('needs a valid key with the scope to write, within the limits', async () => {
    expect(await refused(open('/live/a', { key: 'nothing' }))).toMatchObject({ status: 401 });
    const { key: reader } = await kit.issue({ plan: 'business', scopes: ['live:read'] });
    expect(await refused(open('/live/a', { key: reader }))).toMatchObject({
      status: 403,
      text: expect.stringContaining('live:write'),
    });
    const { key: poor } = await kit.issue({ plan: 'business', minute: 1 });
    await opened(open('/live/a', { key: poor }));
    expect(await refused(open('/live/a', { key: poor }))).toMatchObject({ status: 429 });
  });

  test('gets any other request, also with an upgrade to something else, and no other service gets one', async () => {
    const statuses = await Promise.all(
      [
        upgradeRequest('/live/a', 'h2c'),
        upgradeRequest('/plain/a', 'websocket'),
        upgradeRequest('/live/%2e%2e/a', 'websocket'),
        upgradeRequest('/live/a', 'websocket').replace('\r\n\r\n', '\r\nContent-Length: 1\r\n\r\nx'),
      ].map(async (bytes) => Number((await sendRaw(kit.gateway.port, bytes)).split(' ')[1])),
    );
    expect(statuses).toEqual([418, 418, 400, 418]);
    expect(headers['upgrade']).toBeUndefined();
  });

  test('loses those of a key that is revoked or banned, also one that asks for its usage all the time', async () => {
    const ended = await Promise.all(
      ['revoke', 'ban'].map(async (what) => {
        const issued = await kit.issue({ plan: 'business' });
        const socket = open('/live/a', { key: issued.key });
        await opened(socket);
        return { what, issued, code: closed(socket) };
      }),
    );
    const other = open('/live/a');
    await opened(other);
    const polling = new AbortController();
    const usage = (key: string) => send(`${kit.gateway.url}/live/usage`, { key });
    for (const { issued } of ended)
      expect((await usage(issued.key)).json).toMatchObject({ plan: 'business' });
    const polls = ended.map(async ({ issued }) => {
      while (!polling.signal.aborted) await usage(issued.key);
    });
    for (const { what, issued } of ended) {
      const { id } = issued;
      const args = what === 'revoke' ? `keys revoke ${id} --yes` : `bans add ${id} --for 15m`;
      const { code } = await runOps(`${args} --as test --reason test`.split(' '), kit.env);
      expect(code).toBe(0);
    }
    expect(await Promise.all(ended.map(({ code }) => code))).toEqual([1008, 1008]);
    polling.abort();
    await Promise.all(polls);
    expect(other.readyState).toBe(WebSocket.OPEN);
  }, 30_000);

  test('has at most a hundred of a customer', async () => {
    const { key: own } = await kit.issue({ plan: 'business' });
    const sockets = Array.from({ length: 100 }, () => open('/live/a', { key: own }));
    await Promise.all(sockets.map(opened));
    const free = { 'retry-after': '1', 'x-ratelimit-window': 'streams', 'x-ratelimit-remaining': '900' };
    expect(await refused(open('/live/a', { key: own }))).toMatchObject({ status: 429, headers: free });
    sockets[0]?.close();
    const another = () => {
      const socket = open('/live/a', { key: own });
      return Promise.race([opened(socket).then(() => 101), refused(socket).then(({ status }) => status)]);
    };
    await expect.poll(another).toBe(101);
  });

  test('loses one whose client has ended its side, though the service has not, also of an absolute target', async () => {
    const socket = connect(kit.gateway.port);
    onTestFinished(() => void socket.destroy());
    socket.write(upgradeRequest('http://x/live/open', 'websocket'));
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 101 /);
    // No parser takes what follows the handshake for further requests.
    for (const bytes of [upgradeRequest('/live/open', 'websocket'), 'Hello']) {
      socket.write(bytes);
      expect(String((await once(socket, 'data'))[0])).toBe(bytes);
    }
    socket.end();
    await once(socket, 'close');
  });

  test('takes no memory for a client that does not read', async () => {
    const socket = open('/live/a');
    await opened(socket);
    const before = residentBytes(kit.gateway.pid);
    socket.pause();
    for (let sent = 0; sent < 200; sent += 1) socket.send(Buffer.alloc(megabyte));
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect(residentBytes(kit.gateway.pid) - before).toBeLessThan(100 * megabyte);
  });

  test('closes them between two messages when the gateway stops', async () => {
    await using stopping = await startGateway({ ...kit.env, SHUTDOWN_DELAY_MS: '100' });
    const socket = open('/live/a', { from: stopping });
    await opened(socket);
    let bytes = 0;
    socket.on('message', (data: Buffer) => (bytes += data.length));
    socket.send(Buffer.alloc(20 * megabyte));
    stopping.signal('SIGTERM');
    expect(await closed(socket)).toBe(1001);
    expect([0, 20 * megabyte]).toContain(bytes);
    expect(await stopping.exited).toBe(0);
  });
});
