import { createServer } from 'node:http';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { consolePages } from '../../../../../gateway/faces/console/console.ts';
import { portalPages } from '../../../../../gateway/faces/portal/portal.ts';
import { listening } from '../../../../support/http/listening.ts';

const routers = {
  console: consolePages({ productName: 'Gateway', keyPrefix: 'pets_' }),
  portal: portalPages({ title: 'Acme', color: '#ffffff', supportUrl: undefined }),
};

/** Serves a page. @returns its HTML, the addresses in it, and a function that reads one */
async function serve(name: keyof typeof routers) {
  const server = await listening(createServer(express().use(routers[name])));
  onTestFinished(() => server[Symbol.dispose]());
  const page = await (await fetch(`${server.url}/${name}`)).text();
  const addresses = Array.from(page.matchAll(/(?:href|src)="([^"]+)"/g), ([, address = '']) => address);
  return { page, addresses, get: (path: string) => fetch(server.url + path) };
}

test.each(['console', 'portal'] as const)(
  'the %s loads a script, a style and an icon, kept for good and made of all that they import',
  async (name) => {
    const { addresses, get } = await serve(name);
    const files = await Promise.all(addresses.map(get));
    expect(files.map(({ headers }) => headers.get('Content-Type'))).toEqual([
      'image/svg+xml',
      'text/css; charset=utf-8',
      'text/javascript; charset=utf-8',
    ]);
    for (const { status, headers } of files) {
      expect(status).toBe(200);
      expect(headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
    }
    const [, style = '', script = ''] = await Promise.all(files.map((file) => file.text()));
    expect(script).toContain(`customElements.define("${name}-app"`);
    expect(script).not.toMatch(/^import |import\(/m);
    expect(style).not.toMatch(/@import|url\((?!"?data:font)/);
  },
);

test('a page of another version gets the files of this one, and keeps them no longer than it', async () => {
  const { addresses, get } = await serve('console');
  const other = await get(addresses[2]?.replace(/assets\/[^/]+/, 'assets/another-version') ?? '');
  expect([other.status, other.headers.get('Cache-Control')]).toEqual([200, 'no-cache']);
});

test('no other file is served', async () => {
  const { addresses, get } = await serve('console');
  for (const name of ['tsconfig.json', 'main.ts', '..%2fconsole-pages.ts', 'main.css/', '.css', ''])
    expect((await get(addresses[1]?.replace('main.css', name) ?? '')).status, name).toBe(404);
});
