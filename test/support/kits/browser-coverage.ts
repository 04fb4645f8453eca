import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { bundleOptions } from '../../../gateway/faces/browser-files.ts';
import { coverageDirectory } from './service.ts';

const gateway = fileURLToPath(new URL('../../../gateway/', import.meta.url));

/** Folders of the sources, by the beginning of the address of what is made of them. */
const folders: Record<string, string> = {
  console: 'faces/console/browser',
  portal: 'faces/portal/browser',
  docs: 'faces/docs/browser',
};

/**
 * Counts what a page runs of the project's own scripts, as Node does for its own. A map of the same bundle leads to the
 * sources.
 * @returns a function that adds the counts to the coverage
 */
export async function countCoverage({ coverage }: Page): Promise<() => Promise<void>> {
  const directory = coverageDirectory();
  if (directory === undefined) return () => Promise.resolve();
  await coverage.startJSCoverage({ resetOnNavigation: false });
  return async () => {
    const scripts = await coverage.stopJSCoverage();
    for (const { url, scriptId, functions } of scripts) {
      const [, page = ''] = /^\/(\w+)\/assets\/[^/]+\/main\.js$/.exec(new URL(url).pathname) ?? [];
      const folder = folders[page];
      if (folder === undefined) continue;
      const { file, maps } = await mapsOf(folder);
      const result = [{ scriptId, url: file, functions }];
      const report = JSON.stringify({ result, 'source-map-cache': maps });
      await writeFile(join(directory, `browser-${randomUUID()}.json`), report);
    }
  };
}

/** @returns address of the script, as if it were a source beside the others, and its map as Node writes it */
async function mapsOf(folder: string) {
  const { outputFiles } = await build({ ...bundleOptions(folder), sourcemap: 'external' });
  const textOf = (name: string) => outputFiles.find(({ path }) => path === gateway + name)?.text ?? '';
  const file = pathToFileURL(`${gateway}${folder.replaceAll('/', '-')}.ts`).href;
  const lineLengths = textOf('main.js')
    .split('\n')
    .map(({ length }) => length);
  return { file, maps: { [file]: { lineLengths, data: JSON.parse(textOf('main.js.map')) as object } } };
}
