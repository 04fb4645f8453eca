import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../../../../../gateway/faces/console/browser/', import.meta.url);
/** A template or an attribute that begins with a path, and has a part inserted. */
const unencoded = /(?<!\burl)[`"]\/(?:api|console)\/[^`"?]*\$\{.*/g;

test('what is inserted into an address of the console is encoded', async () => {
  const { url } = (await import(new URL('../../browser/request.ts', folder).href)) as {
    url: typeof String.raw;
  };
  expect(url`/api/keys/${'../plans/x?y'}/ban`).toBe('/api/keys/..%2Fplans%2Fx%3Fy/ban');
  const files = globSync('**/*.ts', { cwd: folder });
  expect(files.length).toBeGreaterThan(20);
  const found = files.flatMap((file) => readFileSync(new URL(file, folder), 'utf8').match(unencoded) ?? []);
  expect(found).toEqual([]);
});
