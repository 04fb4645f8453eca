import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Router } from 'express';
import { browserImports, browserPackages } from './browser-packages.ts';
import { serveAssets } from './serve-assets.ts';
import { renderShell, type PageSettings } from './shell.ts';

const browserFolder = fileURLToPath(new URL('browser/', import.meta.url));

/** Modules of the server that the console's import as they are. The import map leads their addresses to the assets. */
const sharedModules = ['limits/windows.ts', 'limits/utc-day.ts'];

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
export function consolePages(settings: PageSettings): Router {
  const sources = readSources();
  const base = `/console/assets/${hashOf(sources)}`;
  const imports = [
    ...Object.entries(browserImports),
    ...sharedModules.map((name) => [`/console/${name}`, name] as const),
  ].map(([name, file]) => [name, `${base}/${file}`]);
  const map = JSON.stringify({ imports: Object.fromEntries(imports) });
  const styles = readdirSync(join(browserFolder, 'styles')).filter((name) => name.endsWith('.css'));
  let shell: string | undefined;
  const policy = pagePolicy(createHash('sha256').update(map).digest('base64'));

  const packages = new Map(Object.entries(browserPackages));
  async function readAsset(name: string): Promise<string | undefined> {
    const source = sources.get(name);
    // Not at the start, which all scripts together would delay by a tenth of a second.
    if (source !== undefined) return name.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
    const [folder = '', ...parts] = name.split('/');
    const file = parts.join('/');
    const found = packages.get(folder);
    return found && readFile(join(found.files, file), 'utf8').catch(() => undefined);
  }

  const router = Router();
  // The address contains a hash of the sources, so a file never changes.
  router.use(base, serveAssets(readAsset));
  // A page of another version asks for its files, as after an upgrade: it has to be loaded again.
  router.use('/console/assets', (_req, res) => {
    res.sendStatus(404);
  });
  router.get('/', (_req, res) => {
    res.redirect('/console');
  });
  router.get('/console{/*path}', (_req, res) => {
    // Not at the start: the port of the API is not known then.
    shell ??= renderShell({ base, importMap: map, styles, settings });
    res
      .set({
        'Content-Security-Policy': policy,
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Referrer-Policy': 'no-referrer',
      })
      .type('html')
      .send(shell);
  });
  return router;
}

/** The console's own files, and those that it shares, by their names. */
function readSources(): Map<string, string> {
  const names = readdirSync(browserFolder, { recursive: true, encoding: 'utf8' }).toSorted();
  return new Map([
    ...names
      .filter((name) => /\.(?:ts|css|svg)$/.test(name))
      .map((name) => [`console/${name}`, readFileSync(join(browserFolder, name), 'utf8')] as const),
    ...sharedModules.map(
      (name) => [name, readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')] as const,
    ),
  ]);
}

/** Changes with every file that the browser loads: own files, and versions of packages. */
function hashOf(sources: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const [name, text] of sources) hash.update(name).update(text);
  for (const { folder } of Object.values(browserPackages))
    hash.update(readFileSync(join(folder, 'package.json')));
  return hash.digest('base64url').slice(0, 16);
}
