import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { applyAblation, listAblations } from '../../bench/checkout.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Copies the files that the patch changes. */
async function copyPatchedFiles(name: string, directory: string): Promise<void> {
  const patch = await readFile(join(root, `test/bench/ablations/${name}.patch`), 'utf8');
  for (const [, file = ''] of patch.matchAll(/^--- (\S+)$/gm)) {
    await cp(join(root, file), join(directory, file));
  }
}

describe('a contortion for speed can be taken out of the present sources', async () => {
  test.each(await listAblations())('%s', async (name) => {
    const directory = await mkdtemp(join(tmpdir(), 'animal-store-'));
    try {
      await copyPatchedFiles(name, directory);
      await expect(applyAblation(name, directory)).resolves.toBeUndefined();
      // What is gone cannot be taken out again.
      await expect(applyAblation(name, directory)).rejects.toThrow('patch');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
