import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import compression from 'compression';
import express, { Router } from 'express';
import { browserImports, browserPackages } from './browser-packages.ts';
import { renderShell } from './shell.ts';

const browserFolder = fileURLToPath(new URL('browser/', import.meta.url));

/**
 * Policy of every page: nothing from another host, nothing inline but the import map, which its hash permits. Icons of
 * Web Awesome are data URLs that it fetches, so connect-src permits those.
 */
const pagePolicy = (importMapHash: string) =>
  [
    "default-src 'none'",
    `script-src 'self' 'sha256-${importMapHash}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self' data:",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** Serves the console: one HTML page for all its paths, and the modules and styles that it loads. */
export function consolePages(): Router {
  const sources = readSources();
  const base = `/console/assets/${hashOf(sources)}`;
  const imports = Object.entries(browserImports).map(([name, file]) => [name, `${base}/${file}`]);
  const map = JSON.stringify({ imports: Object.fromEntries(imports) });
  const styles = readdirSync(join(browserFolder, 'styles')).filter((name) => name.endsWith('.css'));
  const shell = renderShell({ base, importMap: map, styles });
  const policy = pagePolicy(createHash('sha256').update(map).digest('base64'));

  const router = Router();
  router.use(compression());
  // The address contains a hash of the sources, so a file never changes.
  const caching = { immutable: true, maxAge: '1y', index: false, redirect: false } as const;
  for (const [name, { files }] of Object.entries(browserPackages)) {
    router.use(`${base}/${name}`, express.static(files, caching));
  }
  const scripts = new Map<string, string>();
  router.get(`${base}/console/*path`, (req, res, next) => {
    const name = [req.params.path].flat().join('/');
    const source = sources.get(name);
    if (source === undefined) return next();
    res.set('Cache-Control', 'public, max-age=31536000, immutable');
    if (!name.endsWith('.ts')) return res.type(extname(name)).send(source);
    // Not at the start, which all scripts together would delay by a tenth of a second.
    const script = scripts.get(name) ?? stripTypeScriptTypes(source);
    scripts.set(name, script);
    return res.type('js').send(script);
  });
  // A page of another version asks for its files, as after an upgrade: it has to be loaded again.
  router.use('/console/assets', (_req, res) => {
    res.sendStatus(404);
  });
  router.get('/', (_req, res) => {
    res.redirect('/console');
  });
  router.get('/console{/*path}', (_req, res) => {
    res
      .set({
        'Cache-Control': 'no-store',
        'Content-Security-Policy': policy,
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Resource-Policy': 'same-origin',
        'Referrer-Policy': 'no-referrer',
      })
      .type('html')
      .send(shell);
  });
  return router;
}

/** The console's own files by their names. */
function readSources(): Map<string, string> {
  const names = readdirSync(browserFolder, { recursive: true, encoding: 'utf8' }).toSorted();
  return new Map(
    names
      .filter((name) => /\.(?:ts|css|svg)$/.test(name))
      .map((name) => [name, readFileSync(join(browserFolder, name), 'utf8')]),
  );
}

/** Changes with every file that the browser loads: own files, and versions of packages. */
function hashOf(sources: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const [name, text] of sources) hash.update(name).update(text);
  for (const { folder } of Object.values(browserPackages))
    hash.update(readFileSync(join(folder, 'package.json')));
  return hash.digest('base64url').slice(0, 16);
}
