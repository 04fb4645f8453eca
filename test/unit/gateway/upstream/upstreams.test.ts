import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createReadinessProbe, createUpstreams } from '../../../../gateway/upstream/upstreams.ts';
import { freePort } from '../../../support/http/free-port.ts';

test('an upstream that does not come up in the time for its start is logged as down, once', async () => {
  const lines: string[] = [];
  const upstreams = createUpstreams({
    urls: [`http://127.0.0.1:${await freePort()}`],
    probe: createReadinessProbe(),
    log: pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) }),
    onState: () => {},
    startTimeoutMs: 300,
  });
  onTestFinished(() => upstreams.close());
  for (const target of [1, 2, 3, 4, 5].flatMap(() => upstreams.targets)) {
    upstreams.failed(target, target.epoch, performance.now(), new Error('connect ECONNREFUSED'));
  }
  expect(lines).toHaveLength(1);
  await expect.poll(() => lines.length, { timeout: 5000 }).toBe(2);
  expect(lines[1]).toMatch(/^\{"level":50,.*ECONNREFUSED.*"msg":"upstream is down and ejected"/);
});
