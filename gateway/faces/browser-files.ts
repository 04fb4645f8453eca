import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildOptions } from 'esbuild';

const gateway = fileURLToPath(new URL('..', import.meta.url));

/** What a page loads, by name. */
const contentTypes = {
  'main.js': 'text/javascript; charset=utf-8',
  'main.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};
type FileName = keyof typeof contentTypes;

export type BrowserFiles = ReturnType<typeof createBrowserFiles>;

/** Nothing from another host, and nothing inline. The font is in the styles. */
export const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  'font-src data:',
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

/** The address of a file contains a hash of the sources, so it never changes. */
const headers = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
/** A file of another version, as while instances are replaced: this version's own, for now. */
const otherVersionHeaders = { ...headers, 'Cache-Control': 'no-cache' };

/**
 * Files of the pages of a folder. They are bundled when somebody asks for the first one: that takes a tenth of a second.
 * @param path path of the files, such as /console/assets
 * @param folder below gateway/, with main.ts and main.css
 * @param style styles that are no file
 */
export function createBrowserFiles(path: string, folder: string, style = '') {
  const version = hashOfSources(folder, style);
  let bundled: ReturnType<typeof bundle> | undefined;

  async function read(name: FileName): Promise<string> {
    bundled ??= bundle(folder);
    const text = (await bundled).get(name) ?? '';
    return name === 'main.css' ? text + style : text;
  }

  return {
    addressOf: (name: FileName) => `${path}/${version}/${name}`,
    find(wanted: string) {
      const [, ofVersion, name] =
        /^\/([A-Za-z0-9_-]{1,32})\/([a-z.]+)$/.exec(wanted.slice(path.length)) ?? [];
      if (!wanted.startsWith(path) || !isFileName(name)) return undefined;
      return {
        get text() {
          return read(name);
        },
        contentType: contentTypes[name],
        headers: ofVersion === version ? headers : otherVersionHeaders,
      };
    },
  };
}

const isFileName = (name: string | undefined): name is FileName =>
  name !== undefined && Object.hasOwn(contentTypes, name);

/** How esbuild makes the files of a folder. */
export const bundleOptions = (folder: string) =>
  ({
    absWorkingDir: gateway,
    entryPoints: [`${folder}/main.ts`, `${folder}/main.css`, 'faces/browser/icon.svg'],
    entryNames: '[name]',
    outdir: '.',
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'esnext',
    loader: { '.svg': 'copy', '.woff2': 'dataurl' },
    logLevel: 'silent',
    // An image has no tsconfig.json.
    tsconfigRaw: {},
  }) satisfies BuildOptions;

let bundling = 0;

/** @returns texts by name */
async function bundle(folder: string): Promise<Map<string, string>> {
  // Not at the start, which loading it would delay.
  const { build, stop } = await import('esbuild');
  bundling += 1;
  try {
    const { outputFiles } = await build(bundleOptions(folder));
    return new Map(outputFiles.map(({ path, text }) => [path.slice(gateway.length), text]));
  } finally {
    bundling -= 1;
    // Its process would stay.
    if (bundling === 0) await stop();
  }
}

/** Changes with all that is bundled: own sources, and versions of packages. */
function hashOfSources(folder: string, style: string): string {
  const hash = createHash('sha256').update(style);
  hash.update(readFileSync(join(gateway, '../package.json')));
  for (const part of ['faces/browser', 'limits', folder]) {
    const names = readdirSync(join(gateway, part), { recursive: true, encoding: 'utf8' }).toSorted();
    for (const name of names.filter((name) => /\.(?:ts|css|svg)$/.test(name)))
      hash.update(readFileSync(join(gateway, part, name)));
  }
  return hash.digest('base64url').slice(0, 16);
}
