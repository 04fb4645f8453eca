import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { Agent, EventSource, request, type Dispatcher } from 'undici';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { toolPackages } from '../contract/tools/tools.ts';
import { residentBytes } from '../support/checks/resident-memory.ts';
import { freePort } from '../support/http/free-port.ts';
import { parseRaw, send, sendRaw } from '../support/http/http.ts';
import { listening } from '../support/http/listening.ts';
import { startServicesKit } from '../support/kits/services-kit.ts';
import { shared } from '../support/kits/shared.ts';

/*
 * A service that is known by its path alone, as a real HTTP server that reads and writes as a test wants it to: what
 * passes, and that neither side can make the gateway hold more than the buffers between them.
 */

const megabyte = 1024 * 1024;
const maxBodyBytes = 64 * megabyte;
const cookies = ['a=1; Path=/v1', 'b=2'];

describe('a service that is known by its path', () => {
  let respond: RequestListener = (_req, res) => res.end();

  const kit = shared(() =>
    startServicesKit(async (stack) => {
      const listen = async (listener: RequestListener) =>
        stack.use(await listening(createServer(listener))).url;
      const url = await listen((req, res) => (req.url === '/readyz' ? res.end() : respond(req, res)));
      const inner = await listen((req, res) => res.setHeader('set-cookie', cookies).end(`inner ${req.url}`));
      const services = {
        shop: { urls: [url], paths: ['/v1'], maxBodyBytes, timeoutMs: 2000 },
        inner: { urls: [inner], paths: ['/v1/inner'], setCookie: true },
        gone: { urls: [`http://127.0.0.1:${await freePort()}`], paths: ['/v1/gone'], maxBodyBytes },
      };
      return { services, api: { keyHeader: 'X-API-Key' } };
    }),
  );
  let key: string;
  let readOnly: string;
  let shop: string;
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business', minute: 100_000 }));
    ({ key: readOnly } = await kit.issue({ plan: 'business', scopes: ['shop:read'] }));
    shop = `${kit.gateway.url}/v1`;
  });
  beforeEach(() => {
    respond = (req, res) => {
      let bytes = 0;
      req.on('data', (chunk: Buffer) => (bytes += chunk.length));
      req.on('end', () =>
        res.end(JSON.stringify({ method: req.method, url: req.url, bytes, headers: req.headers })),
      );
    };
  });

  test('takes the key from the header of the services file as well, which the service does not get', async () => {
    const ok = await send(`${shop}/a`, { headers: { 'x-api-key': key } });
    expect(ok.json).toMatchObject({ headers: { authorization: expect.stringMatching(/^Bearer ey/) } });
    expect(ok.text).not.toContain(key);
    expect((await send(`${shop}/a`, { key, headers: { 'x-api-key': key } })).status).toBe(200);
    expect((await send(`${shop}/a`, { key, headers: { 'x-api-key': readOnly } })).json).toEqual({
      code: 'bad_request',
      message: 'The headers Authorization and x-api-key hold different keys: send one of them.',
      status: 400,
    });
    expect((await send(`${shop}/a?x-api-key=${key}`)).json).toMatchObject({
      code: 'missing_api_key',
      message: 'An API key is required: send it as "Authorization: Bearer <API_KEY>", or alone in x-api-key.',
    });
    expect((await send(`${kit.gateway.url}/docs.md`)).text).toContain('header, or alone in `x-api-key`:');
    expect((await send(`${kit.gateway.url}/openapi.json`)).text).toContain(
      'The header `x-api-key` may hold it, too.',
    );
  });

  const head = (method: string, path: string, ...fields: string[]) =>
    [`${method} ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, ...fields, '', ''].join('\r\n');

  const raw = async (...args: Parameters<typeof head>) =>
    parseRaw(await sendRaw(kit.gateway.port, head(args[0], args[1], 'Connection: close', ...args.slice(2))));

  function* zeros(megabytes: number, onChunk = (_sent: number) => {}) {
    const chunk = Buffer.alloc(megabyte);
    for (let sent = 1; sent <= megabytes; sent += 1) {
      onChunk(sent);
      yield chunk;
    }
  }

  const upload = (path: string, body: Iterable<Buffer>, headers: Record<string, string> = {}) =>
    request(shop + path, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: Readable.from(body, { objectMode: false, highWaterMark: megabyte }),
    });

  async function openRaw(bytes: string) {
    const socket: Socket = connect(kit.gateway.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString('latin1'))).on('error', () => {});
    socket.write(bytes);
    return { socket, received: () => received };
  }

  describe('paths', () => {
    test.each(
      (
        '/v1 /v1/ /v1/a%20b/%C3%A4,b;c=d /v1/caf%c3%a9/@:$&+=~!*() /v1/..a/.b/... ' +
        '/v1/%61bc%25%3F?q=%2F..%2F%5C//&x='
      ).split(' '),
    )('%s passes as it is spelled', async (path) => {
      expect(await raw('GET', path)).toMatchObject({ status: 200, json: { url: path } });
    });

    test('lead to the service with the longest one, however it is spelled, and never past the key', async () => {
      expect((await send(`${shop}/inner/x`, { key })).text).toBe('inner /v1/inner/x');
      expect((await send(`${shop}/%69nner/x`, { key })).text).toBe('inner /v1/%69nner/x');
      expect((await send(`${shop}/innermost`, { key })).json).toMatchObject({ url: '/v1/innermost' });
      expect((await send(`${kit.gateway.url}/%761/x`)).status).toBe(404);
      expect((await send(`${shop}/x`)).status).toBe(401);
      expect((await send(`${shop}/usage`, { key })).json).toMatchObject({ plan: 'business' });
    });
  });

  test('gets any method but TRACE, and HEAD, GET ask for the scope to read, others for the one to write', async () => {
    for (const method of ['PROPFIND', 'DELETE', 'PATCH', 'REPORT'])
      expect(await raw(method, '/v1/a')).toMatchObject({ status: 200, json: { method } });
    expect((await raw('TRACE', '/v1/a')).status).toBe(405);
    expect((await send(`${shop}/a`, { key: readOnly })).status).toBe(200);
    const refused = await send(`${shop}/a`, { key: readOnly, method: 'PROPFIND' });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('shop:write')]);
  });

  test('gets all headers but those of a connection and those that say who calls', async () => {
    const { json } = await raw(
      'GET',
      '/v1/a',
      'X-Order: 7',
      'Last-Event-ID: 3',
      'Cookie: a=1',
      'X_Order: 8',
      'HTTP2-Settings: x',
      'X-Real-IP: 1.1.1.1',
      'X-HTTP-Method-Override: DELETE',
    );
    const { headers } = json as { headers: Record<string, string> };
    expect(Object.keys(headers).toSorted()).toEqual(
      (
        'authorization connection host last-event-id x-forwarded-for x-forwarded-host ' +
        'x-forwarded-proto x-order x-request-id'
      ).split(' '),
    );
    expect(JSON.stringify(json)).not.toContain(key);
  });

  test('gets no trailers, and sends none', async () => {
    respond = (req, res) => {
      res.writeHead(200, { trailer: 'X-Sum' });
      req.resume().on('end', () => {
        res.addTrailers({ 'X-Sum': 'of the service' });
        res.end(JSON.stringify(req.trailers));
      });
    };
    const body =
      'Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\nX-Sum: of the client';
    const received = await sendRaw(kit.gateway.port, head('POST', '/v1/a', body));
    expect(received).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\{\}\r\n/);
    expect(received).not.toMatch(/of the|^trailer/im);
  });

  test('sets cookies only if its entry says so', async () => {
    respond = (_req, res) => res.setHeader('set-cookie', cookies).end('outer');
    const [outer, inner] = await Promise.all(['/a', '/inner'].map((path) => send(shop + path, { key })));
    expect([outer?.text, outer?.headers['set-cookie']]).toEqual(['outer', undefined]);
    expect([inner?.text, inner?.headers['set-cookie']]).toEqual(['inner /v1/inner', cookies]);
  });

  describe('an upload', () => {
    test('of 50 MB waits for a service that does not read, and arrives whole when it does', async () => {
      let bytes = 0;
      const reading = Promise.withResolvers<void>();
      respond = (req, res) => {
        void reading.promise.then(() => {
          req.on('data', (chunk: Buffer) => (bytes += chunk.length));
          req.on('end', () => res.end());
        });
      };
      let offered = 0;
      const response = upload(
        '/a',
        zeros(50, (sent) => (offered = sent)),
        { 'content-length': String(50 * megabyte) },
      );
      // Until all buffers between client and service are full.
      let before = -1;
      await expect
        .poll(() => [before, (before = offered)].every((count) => count === offered && count > 0), {
          interval: 300,
        })
        .toBe(true);
      expect(offered).toBeLessThan(40);
      reading.resolve();
      expect((await response).statusCode).toBe(200);
      expect(bytes).toBe(50 * megabyte);
    });

    test('that breaks goes on where it was, with tus-js-client', { tags: ['api-tools'] }, async () => {
      const { Upload } = (await import(
        pathToFileURL(join(toolPackages, 'tus-js-client/lib.esm/node/index.js')).href
      )) as { Upload: new (file: Buffer, options: object) => { start(): void } };
      const file = randomBytes(3 * megabyte);
      let arrived = Buffer.alloc(0);
      const methods: (string | undefined)[] = [];
      // The core of the protocol: https://tus.io/protocols/resumable-upload
      respond = (req, res) => {
        methods.push(req.method);
        res.setHeader('Tus-Resumable', '1.0.0').setHeader('Upload-Length', file.length);
        const answer = (status: number) =>
          void res.writeHead(status, { location: '/v1/files/1', 'upload-offset': arrived.length }).end();
        if (req.method !== 'PATCH') return answer(req.method === 'POST' ? 201 : 200);
        const isFirst = arrived.length === 0;
        req.on('data', (chunk: Buffer) => {
          arrived = Buffer.concat([arrived, chunk]);
          if (isFirst && arrived.length > megabyte) req.socket.destroy();
        });
        req.on('end', () => answer(204));
      };
      await new Promise<void>((resolve, reject) => {
        const headers = { authorization: `Bearer ${key}` };
        const options = {
          endpoint: `${shop}/files`,
          headers,
          retryDelays: [0],
          onSuccess: resolve,
          onError: reject,
        };
        new Upload(file, options).start();
      });
      expect(arrived.equals(file)).toBe(true);
      expect(methods).toEqual(['POST', 'PATCH', 'HEAD', 'PATCH']);
    });

    test('that grows too large is 413, with and without a length, and the service sees it break', async () => {
      expect((await raw('PUT', '/v1/a', `Content-Length: ${maxBodyBytes + 1}`)).status).toBe(413);
      const broken = Promise.withResolvers<boolean>();
      respond = (req) => {
        req.on('data', () => {}).on('error', () => broken.resolve(req.complete));
      };
      const response = await upload('/a', zeros(66));
      const message = `The request body is larger than ${maxBodyBytes} bytes.`;
      expect(await response.body.json()).toEqual({ code: 'payload_too_large', message, status: 413 });
      expect(await broken.promise).toBe(false);
    });

    test('that the service answers before it has all gets this response', async () => {
      respond = (_req, res) => res.writeHead(415, { 'content-type': 'text/plain' }).end('not this');
      const { socket, received } = await openRaw(head('PUT', '/v1/a', `Content-Length: ${10 * megabyte}`));
      socket.write(Buffer.alloc(megabyte));
      await expect.poll(received).toMatch(/^HTTP\/1\.1 415 [^]*not this/);
      socket.write(Buffer.alloc(9 * megabyte));
      await expect.poll(() => socket.destroyed).toBe(true);
    });

    test('for which there is no service gets a 503, once it is sent', async () => {
      const { socket, received } = await openRaw(head('PUT', '/v1/gone', `Content-Length: ${8 * megabyte}`));
      socket.pause();
      await new Promise((resolve) => socket.write(Buffer.alloc(8 * megabyte), resolve));
      socket.resume();
      await expect.poll(received).toMatch(/^HTTP\/1\.1 503 [^]*upstream_unavailable/);
    });

    describe('ends at the other side', () => {
      async function beginUpload() {
        const client = await openRaw(head('PUT', '/v1/a', `Content-Length: ${10 * megabyte}`));
        client.socket.write(Buffer.alloc(megabyte));
        return client;
      }

      test('if the client leaves', async () => {
        const error = new Promise((resolve) => {
          respond = (req) => void req.once('error', resolve).once('data', () => client.socket.destroy());
        });
        const client = await beginUpload();
        expect(await error).toBeInstanceOf(Error);
      });

      test('if the service does, which ejects it for nobody', async () => {
        respond = (req) => void req.once('data', () => req.socket.destroy());
        for (let times = 0; times < 7; times += 1) {
          const { received } = await beginUpload();
          await expect
            .poll(received)
            .toMatch(/^HTTP\/1\.1 502 [^]*upstream_error[^]* before you send it again\."/);
        }
        respond = (_req, res) => res.end();
        expect((await send(`${shop}/a`, { key })).status).toBe(200);
      });
    });
  });

  describe('a download', () => {
    test(
      'of 200 MB takes no memory, and a client that does not read stops the service',
      { tags: ['linux'] },
      async () => {
        let written = 0;
        respond = (_req, res) => {
          const write = () => {
            while (written < 200) {
              written += 1;
              if (!res.write(Buffer.alloc(megabyte))) return void res.once('drain', write);
            }
            res.end();
          };
          write();
        };
        const before = residentBytes(kit.gateway.pid);
        const { body } = await request(`${shop}/a`, { headers: { authorization: `Bearer ${key}` } });
        let seen = -1;
        await expect
          .poll(() => [seen, (seen = written)].every((count) => count === written && count > 0), {
            interval: 300,
          })
          .toBe(true);
        expect(written).toBeLessThan(100);
        let bytes = 0;
        let most = 0;
        for await (const chunk of body) {
          bytes += (chunk as Buffer).length;
          most = Math.max(most, residentBytes(kit.gateway.pid));
        }
        expect(bytes).toBe(200 * megabyte);
        expect((most - before) / megabyte).toBeLessThan(150);
      },
    );

    test('is an event stream for an EventSource, which gets each event as it is sent', async () => {
      const sent: (() => void)[] = [];
      respond = (_req, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        sent.push(() => void res.write('data: 1\n\n'));
      };
      const agent = new Agent();
      onTestFinished(() => agent.destroy());
      const withKey: Dispatcher = agent.compose((dispatch) => (options, handler) => {
        const headers = { ...(options.headers as Record<string, string>), authorization: `Bearer ${key}` };
        return dispatch({ ...options, headers }, handler);
      });
      const source = new EventSource(`${shop}/a`, { node: { dispatcher: withKey } });
      const events: unknown[] = [];
      source.addEventListener('message', ({ data }) => events.push(data));
      await expect.poll(() => source.readyState).toBe(EventSource.OPEN);
      for (const count of [1, 2, 3]) {
        sent[0]?.();
        await expect.poll(() => events.length).toBe(count);
      }
      source.close();
    });
  });
});
