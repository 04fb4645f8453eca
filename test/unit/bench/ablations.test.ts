import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { applyAblation, listAblations } from '../../bench/checkout.ts';

const gateway = fileURLToPath(new URL('../../../gateway', import.meta.url));

describe('a contortion for speed can be taken out of the present sources', async () => {
  test.each(await listAblations())('%s', async (name) => {
    const directory = await mkdtemp(join(tmpdir(), 'animal-store-'));
    try {
      await cp(gateway, join(directory, 'gateway'), { recursive: true });
      await expect(applyAblation(name, directory)).resolves.toBeUndefined();
      // What is gone cannot be taken out again.
      await expect(applyAblation(name, directory)).rejects.toThrow('patch');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

test('an ablation that does not exist is refused, and those that do are named', async () => {
  await expect(applyAblation('none', tmpdir())).rejects.toThrow(
    /there is no ablation none, but .*quota-batch/,
  );
});
