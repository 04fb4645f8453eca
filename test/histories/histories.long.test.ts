import { expect, test } from 'vitest';
import { describeViolations } from './report.ts';
import { runSeeds, type SeedResult } from './run-seeds.ts';

const [seeds, count] = ['1-20', 20];

test(
  'clients of gateways that run one schedule after another see no promise broken',
  { tags: ['redis-server'], timeout: 900_000 },
  async () => {
    const results: SeedResult[] = [];
    const onResult = (result: SeedResult) => Promise.resolve(void results.push(result));
    await runSeeds({ seeds, shards: 4, lengthMs: 20_000, onResult });
    const broken = results
      .filter(({ violations }) => violations.length > 0)
      .map(({ seed, history, violations }) => `seed ${seed}\n${describeViolations(history, violations)}`);
    expect(broken.join('\n')).toBe('');
    // The runs were worth checking.
    expect(results).toHaveLength(count);
    const published = results.flatMap(({ history }) => history.events?.published ?? []);
    const shares = published.flatMap(({ type, data }) =>
      type === 'quota.threshold' ? [data['threshold']] : [],
    );
    expect(new Set(shares)).toEqual(new Set([5, 20, 50, 80, 100]));
  },
);
