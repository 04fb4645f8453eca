import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { consolePages } from '../../../../../gateway/admin/console/console-pages.ts';
import { portalPages } from '../../../../../gateway/portal/portal-pages.ts';

const gateway = fileURLToPath(new URL('../../../../../gateway/', import.meta.url));
const folder = join(gateway, 'admin/console/browser/');

const routers = {
  console: consolePages({ productName: 'Gateway', keyPrefix: 'pets_', sampleUrl: () => '' }),
  portal: portalPages({ title: 'Acme', color: '#ffffff', supportUrl: undefined }),
};

/** Serves a page. @returns its HTML, and the address of its files */
async function serve(name: keyof typeof routers) {
  const server = express().use(routers[name]).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const page = await (await fetch(`${origin}/${name}`)).text();
  const [, base = ''] = /src="([^"]+)browser\/theme\.ts"/.exec(page) ?? [];
  return { page, base: `${origin}${base}` };
}

/** @returns a function that reads a file of the console as a browser does, by its path in the folder of sources */
async function serveConsole(): Promise<(name: string) => Promise<Response>> {
  const { base } = await serve('console');
  return (name) => fetch(`${base}admin/console/browser/${name}`);
}

test.each([
  ['console', 'admin/console/browser'],
  ['portal', 'portal/browser'],
] as const)('every module that a script of the %s imports is served', async (name, folder) => {
  const { page, base } = await serve(name);
  const { imports } = JSON.parse(/importmap">([^<]+)</.exec(page)?.[1] ?? '') as { imports: object };
  const modules = new Set(globSync(`${folder}/**/*.ts`, { cwd: gateway }).map((file) => `${base}${file}`));
  // A set also goes through what is added.
  for (const module of modules) {
    const response = await fetch(module);
    expect(response.status, module).toBe(200);
    const script = await response.text();
    const imported = Array.from(
      script.matchAll(/^import (?:[^;']*from )?'([^']+)'/gm),
      ([, path = '']) => path,
    );
    for (const path of imported) if (path.startsWith('.')) modules.add(new URL(path, module).href);
    const packages = imported.filter((path) => !path.startsWith('.'));
    expect(Object.keys(imports), module).toEqual(
      expect.arrayContaining(packages.map((path) => path.replace(/(?<=\/).+\.js$/, ''))),
    );
  }
  expect([...modules].join()).toContain('/limits/');
});

test('every script is served as JavaScript with blanks in place of its types, so that positions are those of the source', async () => {
  const get = await serveConsole();
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
  const get = await serveConsole();
  expect((await get('../../../browser/icon.svg')).headers.get('Content-Type')).toContain('image/svg+xml');
  expect((await get('../../../browser/styles/base.css')).headers.get('Content-Type')).toContain('text/css');
  for (const name of ['tsconfig.json', 'no-such.ts', '..%2fconsole-pages.ts'])
    expect((await get(name)).status, name).toBe(404);
});
