import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { renderApiError } from '../../gateway/admin/api/render-api-error.ts';
import type { LiveFeed, LiveListener } from '../../gateway/admin/live/live-feed.ts';
import { sendEvents } from '../../gateway/admin/live/send-events.ts';
import { openEventStream, type EventStream } from '../support/http/event-stream.ts';

const listeners = new Set<LiveListener>();
const feed: LiveFeed = {
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  close() {},
};
const sendToAll = (event: string) => {
  for (const { send } of listeners) send(event);
};

let app: Express;
let url: string;
let server: ReturnType<typeof createServer>;
let open: EventStream[];
/** Sessions of one stream each. */
let others = 0;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  open = [];
  app = express();
  const stream = sendEvents(feed, (req) => req.header('X-Session') ?? String((others += 1)));
  app.get('/', stream);
  app.get('/left', (req, res) => {
    res.once('close', () => {
      stream(req, res);
      app.emit('left');
    });
    app.emit('arrived');
  });
  app.use(renderApiError({ logUnexpected: () => {}, traceRefusal: () => {} }));
  server = createServer(app);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});

afterEach(async () => {
  for (const stream of open) await stream[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
  vi.useRealTimers();
});

async function openStream(): Promise<EventStream> {
  const stream = await openEventStream(url, '');
  open.push(stream);
  return stream;
}

test('a stream says how soon to connect again, and passes on what is sent', async () => {
  const stream = await openStream();
  expect(stream.status).toBe(200);
  sendToAll('event: state\nid: 1\ndata: {"at":"now"}\n\n');
  await expect.poll(() => stream.last('state')).toEqual({ at: 'now' });
  expect(stream.text()).toMatch(/^retry: 1000\n\n/);
});

test('a stream with nothing to say sends a comment, so that nobody takes it for dead', async () => {
  const stream = await openStream();
  vi.advanceTimersByTime(30_000);
  await expect.poll(() => stream.text().match(/^: /gm)).toHaveLength(2);
});

test('a stream that is closed is forgotten', async () => {
  const stream = await openStream();
  expect(listeners.size).toBe(1);
  await stream[Symbol.asyncDispose]();
  await expect.poll(() => listeners.size).toBe(0);
});

test('a reader that left while its session was looked up has no stream', async () => {
  const [arrived, left] = [once(app, 'arrived'), once(app, 'left')];
  const request = get(`${url}left`, { agent: false }).on('error', () => {});
  await arrived;
  request.destroy();
  await left;
  expect(listeners.size).toBe(0);
});

test('the 51st stream is refused, until another one is closed', async () => {
  const first = await openStream();
  for (let count = 1; count < 50; count += 1) expect((await openStream()).status).toBe(200);
  const refused = await new Promise<IncomingMessage>((resolve) => get(url, { agent: false }, resolve));
  expect(refused.statusCode).toBe(429);
  expect(refused.headers['retry-after']).toBe('10');
  refused.destroy();
  await first[Symbol.asyncDispose]();
  await expect.poll(() => listeners.size).toBe(49);
  expect((await openStream()).status).toBe(200);
});

test('the 11th stream of a session is refused, and those of others are not', async () => {
  const openOf = (session: string) =>
    new Promise<IncomingMessage>((resolve) => {
      get(url, { agent: false, headers: { 'X-Session': session } }, resolve);
    });
  for (let count = 0; count < 10; count += 1) expect((await openOf('Ada')).statusCode).toBe(200);
  const refused = await openOf('Ada');
  expect(refused.statusCode).toBe(429);
  refused.destroy();
  expect((await openOf('Grace')).statusCode).toBe(200);
});

test('a reader that does not keep up is dropped, and others are not', async () => {
  const slow = await openStream();
  slow.pause();
  const other = await openStream();
  const event = `event: state\ndata: "${'x'.repeat(100_000)}"\n\n`;
  // What the kernel holds for a reader is limited too.
  let sent = 0;
  for (; sent < 500 && listeners.size === 2; sent += 1) {
    sendToAll(event);
    await expect.poll(() => other.events('state').length).toBe(sent + 1);
  }
  expect(listeners.size).toBe(1);
  expect(other.events('state')).toHaveLength(sent);
  slow.resume();
  await slow.ended;
});
