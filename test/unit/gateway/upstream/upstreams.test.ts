import { createServer } from 'node:http';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createReadinessProbe, createUpstreams } from '../../../../gateway/upstream/upstreams.ts';
import { freePort } from '../../../support/http/free-port.ts';
import { listen } from '../../../support/http/listening.ts';

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
  await listen(server, port);
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
