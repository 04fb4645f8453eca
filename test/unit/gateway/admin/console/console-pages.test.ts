import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { consolePages } from '../../../../../gateway/admin/console/console-pages.ts';

const folder = fileURLToPath(new URL('../../../../../gateway/admin/console/browser/', import.meta.url));

/** @returns a function that reads a file of the console as a browser does, by its path in the folder of sources */
async function serve(): Promise<(name: string) => Promise<Response>> {
  const server = express()
    .use(consolePages({ productName: 'Gateway', keyPrefix: 'pets_', sampleUrl: () => '' }))
    .listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [, base = ''] = /src="([^"]+)main\.ts"/.exec(await (await fetch(`${origin}/console`)).text()) ?? [];
  return (name) => fetch(`${origin}${base}${name}`);
}

test('every script is served as JavaScript with blanks in place of its types, so that positions are those of the source', async () => {
  const get = await serve();
  const names = globSync('**/*.ts', { cwd: folder });
  expect(names.length).toBeGreaterThan(50);
  for (const name of names) {
    const response = await get(name);
    expect(response.headers.get('Content-Type'), name).toBe('text/javascript; charset=utf-8');
    expect(response.headers.get('Cache-Control'), name).toBe('public, max-age=31536000, immutable');
    const [served, source] = [await response.text(), readFileSync(join(folder, name), 'utf8')];
    expect(served.length, name).toBe(source.length);
    const moved = served.split('').findIndex((char, index) => !/\s/.test(char) && char !== source[index]);
    expect(moved, name).toBe(-1);
  }
});

test('only scripts, styles and the icon are served', async () => {
  const get = await serve();
  expect((await get('../../../browser/icon.svg')).headers.get('Content-Type')).toContain('image/svg+xml');
  expect((await get('../../../browser/styles/base.css')).headers.get('Content-Type')).toContain('text/css');
  for (const name of ['tsconfig.json', 'no-such.ts', '..%2fconsole-pages.ts'])
    expect((await get(name)).status, name).toBe(404);
});
