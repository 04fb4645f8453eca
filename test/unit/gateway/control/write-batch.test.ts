import { describe, expect, test } from 'vitest';
import { writeBatch } from '../../../../gateway/control/keys/key-transfer.ts';
import type { Change } from '../../../../gateway/platform/redis/record-change.ts';

const keys = Array.from({ length: 250 }, (_, index) => ({ index, plan: index % 5 === 0 ? 'pro' : 'free' }));
const fileSha256 = 'a'.repeat(64);

function recorder() {
  const entries: Change[] = [];
  const audit = (change: Change) => {
    entries.push(change);
    return Promise.resolve();
  };
  return { entries, source: { fileSha256, audit } };
}

describe('a batch', () => {
  test('is one entry, before the first key, and writes the keys in order', async () => {
    const { entries, source } = recorder();
    const written: number[] = [];
    await writeBatch(keys, source, async ({ index }) => {
      expect(entries).toHaveLength(1);
      written.push(index);
      return Promise.resolve();
    });
    expect(written).toEqual(keys.map(({ index }) => index));
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

  test('that fails has a second entry with the number of keys that were written', async () => {
    const { entries, source } = recorder();
    const written: number[] = [];
    const run = writeBatch(keys, source, async ({ index }) => {
      await Promise.resolve();
      if (index === 130) throw new Error('Redis is full');
      written.push(index);
    });
    await expect(run).rejects.toThrow('Redis is full');
    expect(written).toHaveLength(199);
    const target = entries[0]?.target;
    expect(entries.slice(1)).toEqual([
      { action: 'keys.import.incomplete', target, before: { count: 250 }, after: { count: 199 } },
    ]);
  });

  test('that fails says why, also if the audit log has an error as well', async () => {
    const { source } = recorder();
    const audit = (change: Change) =>
      change.before === null ? Promise.resolve() : Promise.reject(new Error('no audit'));
    const run = writeBatch(keys, { ...source, audit }, () => Promise.reject(new Error('lost')));
    await expect(run).rejects.toThrow('lost');
  });
});
