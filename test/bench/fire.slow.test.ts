import { describe, expect, test } from 'vitest';
import { runProgram } from '../support/kits/service.ts';

const tags = ['linux', 'redis-server', 'nginx', 'wrk'];

describe('npm run bench:fire', { tags, timeout: 300_000 }, () => {
  test('measures a gateway whose plan changes and one that loses its upstream, and counts errors', async () => {
    const phases = ['--phase', 'plan', '--phase', 'no-upstream'];
    const { code, stdout, stderr } = await runProgram(['test/bench/fire.ts', '--seconds', '2', ...phases]);
    expect(code, stderr).toBe(0);
    const rows = stdout.split('\n').filter((line) => line.includes('| gateway |'));
    const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
    expect(cells.map(([, phase]) => phase)).toEqual([
      'the plan changes every second',
      'the only upstream is stopped',
    ]);
    for (const [, , , requests, p50, p99, p999] of cells) {
      for (const figure of [requests, p50, p99, p999]) expect(parseFloat(figure ?? '')).toBeGreaterThan(0);
    }
    const errors = cells.map((row) => row.at(-3));
    expect(errors[0]).toBe('0');
    expect(errors[1]).toMatch(/\d+ × 50[23]/);
    expect(cells.map((row) => row.at(-2))).toEqual([expect.stringMatching(/^(yes|no)$/), 'no']);
  });

  test('names the phases if there is none of that name', async () => {
    const { code, stderr } = await runProgram(['test/bench/fire.ts', '--phase', 'calmer']);
    expect(code).toBe(1);
    expect(stderr).toContain('unknown phase calmer: calm, failover');
  });
});
