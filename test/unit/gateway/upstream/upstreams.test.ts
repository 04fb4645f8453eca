import { createServer } from 'node:http';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createReadinessProbe } from '../../../../gateway/upstream/readiness-probe.ts';
import { createUpstreams } from '../../../../gateway/upstream/upstreams.ts';
import { freePort } from '../../../support/http/free-port.ts';

/** Upstreams with one target on a closed port, which five requests have found. */
async function startWithoutUpstream(startTimeoutMs: number) {
  const lines: string[] = [];
  const port = await freePort();
  const upstreams = createUpstreams({
    urls: [`http://127.0.0.1:${port}`],
    probe: createReadinessProbe(),
    log: pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) }),
    onState: () => {},
    startTimeoutMs,
  });
  onTestFinished(() => upstreams.close());
  const fail = () => {
    for (const target of upstreams.targets) {
      for (let count = 0; count < 5; count += 1) {
        upstreams.failed(target, target.epoch, performance.now(), new Error('connect ECONNREFUSED'));
      }
    }
  };
  fail();
  return { lines, port, fail };
}

test('an upstream that has never been up is logged as starting, and as down after it was up', async () => {
  const { lines, port, fail } = await startWithoutUpstream(60_000);
  const waiting = expect.stringMatching(
    /^\{"level":30,.*"reason":"connect ECONNREFUSED","msg":"upstream does not respond yet; waiting for it to start"/,
  );
  expect(lines).toEqual([waiting]);
  const server = createServer((_req, res) => res.end());
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  const ready = expect.stringMatching(/^\{"level":30,.*"msg":"upstream is ready"/);
  await expect.poll(() => lines, { timeout: 5000 }).toEqual([waiting, ready]);
  fail();
  expect(lines[2]).toMatch(/^\{"level":50,.*"msg":"upstream is down and ejected"/);
});

test('an upstream that does not come up in the time for its start is logged as down, once', async () => {
  const { lines } = await startWithoutUpstream(300);
  expect(lines).toHaveLength(1);
  await expect.poll(() => lines.length, { timeout: 5000 }).toBe(2);
  expect(lines[1]).toMatch(/^\{"level":50,.*ECONNREFUSED.*"msg":"upstream is down and ejected"/);
});

test('a replacement keeps what is known of instances that stay, and uses new ones only', () => {
  const states: string[] = [];
  const upstreams = createUpstreams({
    urls: ['http://127.0.0.1:9', 'http://127.0.0.2:9'],
    probe: { path: '/readyz', check: () => new Promise(() => {}), close: async () => {} },
    log: pino({ level: 'silent' }),
    onState: (origin, state) => states.push(`${origin} ${state}`),
    onRemoved: (origin) => states.push(`${origin} removed`),
  });
  onTestFinished(() => upstreams.close());
  const [first, second] = upstreams.targets;
  if (first === undefined || second === undefined) throw new Error('there are two');
  const fail = (target: typeof first) => {
    for (let count = 0; count < 5; count += 1)
      upstreams.failed(target, target.epoch, performance.now(), new Error('connect ECONNREFUSED'));
  };
  fail(first);
  expect(upstreams.take()).toBe(second);
  states.length = 0;

  upstreams.replace(['http://127.0.0.3:9', 'http://127.0.0.1:9']);
  expect(states).toEqual(['http://127.0.0.2:9 removed', 'http://127.0.0.3:9 unknown']);
  expect(upstreams.targets[1]).toBe(first);
  expect(first.state).toBe('down');
  const chosen = [upstreams.take(), upstreams.take()].map((target) => target?.origin);
  expect(chosen).toEqual(['http://127.0.0.3:9', 'http://127.0.0.3:9']);

  // A request that was sent to the removed one before fails later.
  states.length = 0;
  fail(second);
  upstreams.release(second);
  expect(states).toEqual([]);
  expect(second.inFlight).toBe(0);
});
