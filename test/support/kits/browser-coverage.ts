import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { coverageDirectory } from './service.ts';

/** Folders of the scripts, by the beginning of their addresses. */
const folders = [
  [/^\/(?:console|portal)\/assets\/[^/]+\/(?=(?:admin|docs|limits|portal)\/)/, 'gateway/'],
  [/^\/docs\/assets\/[^/]+\//, 'gateway/docs/browser/'],
] as const;

/**
 * Counts what a page runs of the project's own scripts, as Node does for its own. They are served with
 * spaces in place of their types, so positions in them are those of the sources.
 * @returns a function that adds the counts to the coverage
 */
export async function countCoverage({ coverage }: Page): Promise<() => Promise<void>> {
  const directory = coverageDirectory();
  if (directory === undefined) return () => Promise.resolve();
  await coverage.startJSCoverage({ resetOnNavigation: false });
  return async () => {
    const scripts = await coverage.stopJSCoverage();
    const result = scripts.flatMap(({ url, scriptId, functions }) => {
      const source = sourceOf(new URL(url).pathname);
      return source === undefined ? [] : [{ scriptId, url: source, functions }];
    });
    await writeFile(join(directory, `browser-${randomUUID()}.json`), JSON.stringify({ result }));
  };
}

function sourceOf(path: string): string | undefined {
  const found = folders.find(([beginning]) => beginning.test(path));
  if (found === undefined) return undefined;
  const [beginning, folder] = found;
  return new URL(`../../../${path.replace(beginning, folder)}`, import.meta.url).href;
}
