import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Traffic } from '../../gateway/operations/traffic.ts';
import { send } from '../support/http/http.ts';
import { startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { runOnTerminal } from '../support/kits/terminal.ts';

const clearScreen = '\u{1B}[H\u{1B}[J';

describe('ops traffic', () => {
  let kit: OpsKit;

  beforeAll(async () => {
    kit = await startOpsKit();
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  test('says what to do without traffic', async () => {
    const { code, stdout, stderr } = await kit.run('traffic');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(
      'no traffic of all plans in the last 1h\n' +
        'Gateways on this Redis report theirs every 5 s. A longer range: ops traffic --last 7d\n',
    );
    const { points, total } = await kit.json<Traffic>('traffic', '--last', '15m', '--step', '1m');
    expect(points.length).toBeGreaterThanOrEqual(15);
    expect(points.length).toBeLessThanOrEqual(16);
    expect(total.requests).toBe(0);
  });

  test('prints a table without a terminal, and JSON', async () => {
    const { key } = await kit.issue({ plan: 'pro', minute: 5 });
    for (let times = 0; times < 8; times += 1) await kit.pets(key);
    await send(`${kit.gateway.url}/v1/pets`);
    const traffic = () => kit.json<Traffic>('traffic', '--step', '30s');
    await expect
      .poll(async () => (await traffic()).total.byStatus, { timeout: 20_000 })
      .toEqual({ '2xx': 5, '4xx': 4 });
    expect((await traffic()).total).toMatchObject({
      requests: 9,
      byPlan: { pro: { requests: 8, refusals: { minute: 3, day: 0 } }, none: { requests: 1 } },
    });
    const { stdout } = await kit.run('traffic', '--last', '10m', '--step', '1m');
    const [heading = '', ...rows] = stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^FROM +REQ\/S +2XX +3XX +4XX +5XX +ABORTED +CUT OFF +P50 MS +P99 MS +REFUSED /);
    // Not the minutes before the first traffic.
    expect(rows[0]).not.toMatch(/^\S+ +0\.00 /);
    expect(rows.every((row) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z +\d+\.\d\d /.test(row))).toBe(true);
    const served = rows.reduce((sum, row) => sum + Number(row.split(/ {2,}/)[2]), 0);
    expect(served).toBe(5);
    expect(stdout).not.toContain('\u{1B}');
    const csv = await kit.run('traffic', '--last', '10m', '--step', '1m', '--output', 'csv');
    const [names = '', ...points] = csv.stdout.trimEnd().split('\n');
    expect(names).toBe(
      'at,seconds,requests,2xx,3xx,4xx,5xx,aborted,cutOff,p50Ms,p99Ms,refusedMinute,refusedHour,refusedDay,refusedMonth,bans,bannedRequests,localDecisions',
    );
    const columns = names.split(',');
    const sumOf = (name: string) =>
      points.reduce((sum, line) => sum + Number(line.split(',')[columns.indexOf(name)]), 0);
    expect(['requests', '2xx', '4xx', 'refusedMinute', 'bans'].map(sumOf)).toEqual([9, 5, 4, 3, 0]);
    const ofPlan = await kit.json<Traffic>('traffic', '--plan', 'none');
    expect(ofPlan.total).toMatchObject({ requests: 1, byStatus: { '4xx': 1 } });
    expect((await kit.run('traffic', '--plan', 'free')).stdout).toContain('no traffic of plan free');
  });

  test.each([
    [['--last', '8d'], 'reaches back 7 days'],
    [['--last', 'soon'], 'not a duration'],
    [['--step', '7s'], 'the step of 7 s must divide a day'],
    [['--last', '2h', '--step', '10s'], 'reach back an hour'],
    [['--plan', 'pr'], 'there is no plan named "pr"; did you mean "pro"?'],
    [['--watch'], '--watch needs a terminal, or --json'],
    [['--watch', '--output', 'csv'], '--watch needs a terminal, or --json'],
    [['--json', '--output', 'csv'], '--json is short for --output json'],
  ])('refuses %o', async (args, message) => {
    const { code, stdout, stderr } = await kit.run('traffic', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('draws a chart on a terminal, in colour unless NO_COLOR is set', { tags: ['script'] }, async () => {
    const draw = (args: string[], env: Record<string, string>, isComplete: (text: string) => boolean) =>
      runOnTerminal(
        ['gateway/ops/main.ts', 'traffic', ...args],
        { REDIS_URL: kit.server.url, ...env },
        isComplete,
      );
    const coloured = await draw([], {}, () => false);
    const plain = await draw([], { NO_COLOR: '1' }, () => false);
    expect(coloured).toContain('\u{1B}[32m');
    expect(plain).not.toContain('\u{1B}[');
    const lines = stripVTControlCharacters(coloured).split('\r\n');
    expect(lines[0]).toMatch(/^Traffic of the last 1h, all plans, by \d+m$/);
    expect(lines.filter((line) => line.includes('█')).length).toBeGreaterThan(8);
    expect(lines.join('\n')).toMatch(/^2xx .*█.* 5$/m);
    expect(lines.join('\n')).toMatch(/^refused .*█.* 3$/m);
    expect(lines.join('\n')).toMatch(/^p99 ms .*█/m);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80);

    const watched = await draw(['--watch', '--last', '5m'], {}, (text) => text.split(clearScreen).length > 2);
    expect(watched.split(clearScreen).length).toBeGreaterThan(2);
    expect(watched).toContain('Traffic of the last 5m');
  });
});
