import { describe, expect, test } from 'vitest';
import { writeBatch } from '../../../../gateway/operations/write-batch.ts';
import type { Change } from '../../../../gateway/redis/record-change.ts';

const keys = Array.from({ length: 250 }, (_, index) => ({ index, plan: index % 5 === 0 ? 'pro' : 'free' }));
const fileSha256 = 'a'.repeat(64);

function recorder() {
  const entries: Change[] = [];
  const audit = (change: Change) => {
    entries.push(change);
    return Promise.resolve();
  };
  return { entries, source: { action: 'keys.import', fileSha256, audit } as const };
}

describe('a batch', () => {
  test('is one entry, before the first key, and gives the results in order', async () => {
    const { entries, source } = recorder();
    const results: number[] = [];
    const write = async ({ index }: { index: number }) => {
      expect(entries).toHaveLength(1);
      return Promise.resolve(index);
    };
    for await (const page of writeBatch(keys, write, source)) results.push(...page);
    expect(results).toEqual(keys.map(({ index }) => index));
    const after = { count: 250, fileSha256, plans: { pro: 50, free: 200 } };
    expect(entries).toEqual([
      {
        action: 'keys.import',
        target: expect.stringMatching(/^batch_[\da-f]{12}$/),
        before: null,
        after,
      },
    ]);
  });

  test('that fails gives all keys that were written, and has a second entry with their number', async () => {
    const { entries, source } = recorder();
    const written: number[] = [];
    const write = async ({ index }: { index: number }) => {
      await Promise.resolve();
      if (index === 130) throw new Error('Redis is full');
      written.push(index);
      return index;
    };
    const results: number[] = [];
    const run = async () => {
      for await (const page of writeBatch(keys, write, source)) results.push(...page);
    };
    await expect(run()).rejects.toThrow('Redis is full');
    expect(results).toHaveLength(199);
    expect(results).toEqual(written);
    const target = entries[0]?.target;
    expect(entries.slice(1)).toEqual([
      { action: 'keys.import.incomplete', target, before: { count: 250 }, after: { count: 199 } },
    ]);
  });

  test('whose reader stops has one, too, and an error of the audit log does not hide the first one', async () => {
    const { entries, source } = recorder();
    for await (const _page of writeBatch(keys, async () => Promise.resolve(), source)) break;
    expect(entries[1]).toMatchObject({ after: { count: 100 } });
    const audit = (change: Change) =>
      change.before === null ? Promise.resolve() : Promise.reject(new Error('no audit'));
    const pages = writeBatch(keys, () => Promise.reject(new Error('lost')), { ...source, audit });
    await expect(pages.next()).rejects.toThrow('lost');
  });
});
