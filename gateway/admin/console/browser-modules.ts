import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Router } from 'express';
import { browserImports, browserPackages } from './browser-packages.ts';
import { serveAssets } from './serve-assets.ts';

const gateway = fileURLToPath(new URL('../../', import.meta.url));

/** What pages load. */
export interface BrowserModules {
  /** Path of all files, which are below it as they are below gateway/. It contains a hash of the sources. */
  base: string;
  /** JSON. */
  importMap: string;
  /** Headers of a page that has the import map inline. */
  headers: Readonly<Record<string, string>>;
  /** Serves the files. */
  router: Router;
}

interface BrowserModulesOptions {
  /** Path of the files, such as /console/assets. */
  path: string;
  /** Folders of scripts and styles, below gateway/. What the scripts import of other folders is served, too. */
  folders: readonly string[];
  /** Texts that are no files, by their names. */
  texts?: Readonly<Record<string, string>>;
}

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

/** Reads the modules and styles of pages, and serves them, scripts without their types. */
export function createBrowserModules(options: BrowserModulesOptions): BrowserModules {
  const { path } = options;
  const sources = readSources(options);
  const base = `${path}/${hashOf(sources)}`;
  const imports = Object.entries(browserImports).map(([name, file]) => [name, `${base}/${file}`]);
  const importMap = JSON.stringify({ imports: Object.fromEntries(imports) });
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
  router.use(path, (_req, res) => {
    res.sendStatus(404);
  });
  return {
    base,
    importMap,
    headers: {
      'Content-Security-Policy': pagePolicy(createHash('sha256').update(importMap).digest('base64')),
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
    },
    router,
  };
}

/** The path of a module that a script imports, and not only its types. */
const importedPath = /^import (?!type )(?:[^;']* from )?'(\.[^']+)'/gm;

function readSources({ folders, texts = {} }: BrowserModulesOptions): Map<string, string> {
  const names = folders.flatMap((folder) =>
    readdirSync(join(gateway, folder), { recursive: true, encoding: 'utf8' })
      .toSorted()
      .filter((name) => /\.(?:ts|css|svg)$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
  const sources = new Map(Object.entries(texts));
  for (const name of names) add(name);
  return sources;

  function add(name: string): void {
    if (sources.has(name)) return;
    const source = readFileSync(join(gateway, name), 'utf8');
    sources.set(name, source);
    for (const [, path = ''] of source.matchAll(importedPath)) add(join(dirname(name), path));
  }
}

/** Changes with every file that the browser loads: own files, and versions of packages. */
function hashOf(sources: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const [name, text] of sources) hash.update(name).update(text);
  for (const { folder } of Object.values(browserPackages))
    hash.update(readFileSync(join(folder, 'package.json')));
  return hash.digest('base64url').slice(0, 16);
}
