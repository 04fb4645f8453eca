import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { applyAblation, listAblations } from '../../bench/checkout.ts';
import { temporaryDirectory } from '../../support/kits/temporary-directory.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

describe('a contortion for speed can be taken out of the present sources', async () => {
  test.each(await listAblations())('%s', async (name) => {
    await using directory = await temporaryDirectory();
    const patch = await readFile(join(root, `test/bench/ablations/${name}.patch`), 'utf8');
    for (const [, file = ''] of patch.matchAll(/^--- (\S+)$/gm))
      await cp(join(root, file), join(directory.path, file));
    await expect(applyAblation(name, directory.path)).resolves.toBeUndefined();
    // What is gone cannot be taken out again.
    await expect(applyAblation(name, directory.path)).rejects.toThrow('patch');
  });
});
