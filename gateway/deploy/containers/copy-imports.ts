import { copyFile, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { nodeFileTrace } from '@vercel/nft';
import { z } from 'zod';

/*
 * Copies the files that programs of this project load into the folder of an image. Run it at the top of the project:
 *
 *   node gateway/deploy/containers/copy-imports.ts ../image gateway/server.ts gateway/faces/command/main.ts
 *
 * An image would otherwise carry all packages that npm installs, ten times as much as is loaded.
 */

/**
 * Finds the sources, the files of packages and the data files that are loaded, from the imports and from paths such as
 * `new URL('openapi.yaml', import.meta.url)`.
 * @param programs entry points, relative to the working directory, as all paths of the result; and data files that are
 *   read by a computed path
 * @throws Error if an import of the project's own sources leads nowhere
 */
export async function traceImports(programs: readonly string[]): Promise<string[]> {
  const omitted = await omittedPackages();
  const { fileList, warnings } = await nodeFileTrace(programs.filter(isProgram), {
    // What browsers load has other rules, below.
    ignore: (path) =>
      omitted.some((folder) => path.startsWith(folder)) ||
      /(?:gateway|console|portal|docs)\/browser\//.test(path),
    readFile: readSource,
  });
  // Packages try modules that are not there, such as pg-native; the project's own sources do not.
  const missing = Array.from(warnings, ({ message }) => message).filter((message) =>
    /loaded from (?!.*[/]node_modules[/])/.test(message),
  );
  if (missing.length > 0) throw new Error(missing.join('\n'));
  const others = programs.filter((path) => !isProgram(path) && !isBrowserModule(path));
  const browser = await Promise.all(programs.filter(isBrowserModule).map(traceBrowserImports));
  return [...new Set(['package.json', ...others, ...fileList, ...browser.flat()])].toSorted();
}

const isBrowserModule = (path: string) => path.endsWith('/browser/main.ts');
const isProgram = (path: string) => path.endsWith('.ts') && !isBrowserModule(path);

/** Finds the sources of a page's files, and the program that bundles them, which is of this platform. */
async function traceBrowserImports(entry: string): Promise<string[]> {
  // The image of the pets service is built without it.
  const [{ build }, { bundleOptions }] = await Promise.all([
    import('esbuild'),
    import('../../faces/browser-files.ts'),
  ]);
  const options = bundleOptions(relative('gateway', dirname(entry)));
  const { metafile } = await build({ ...options, metafile: true });
  const sources = Object.keys(metafile.inputs).map((file) => relative('.', join('gateway', file)));
  const packages = sources.flatMap((file) => /^node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(file)?.[0] ?? []);
  return [
    ...sources,
    ...packages.map((folder) => `${folder}package.json`),
    // The hash in the addresses is of all of them.
    ...(await filesBelow('gateway/limits')),
    ...(await filesBelow('node_modules/@esbuild')),
  ];
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** @returns null, which @vercel/nft expects, if there is no such file */
async function readSource(path: string): Promise<string | null> {
  try {
    const text = await readFile(path, 'utf8');
    return path.endsWith('.ts') && !path.includes('/node_modules/') ? stripTypeScriptTypes(text) : text;
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'EISDIR'].includes(String(error.code)))
      return null;
    throw error;
  }
}

const flag = z.boolean().optional();
const lockFile = z.object({
  packages: z.record(z.string(), z.object({ dev: flag, optional: flag, devOptional: flag })),
});

/** Folders of what `npm ci --omit=dev --omit=optional` does not install: the embedded stores, which need no image, and tools. */
async function omittedPackages(): Promise<string[]> {
  const { packages } = lockFile.parse(JSON.parse(await readFile('package-lock.json', 'utf8')));
  return Object.entries(packages)
    .filter(([path, { dev, optional, devOptional }]) => path !== '' && (dev ?? optional ?? devOptional))
    .map(([path]) => `${path}/`);
}

if (import.meta.main) {
  const [target, ...programs] = process.argv.slice(2);
  if (target === undefined || programs.length === 0) {
    process.stderr.write('usage: copy-imports.ts <target folder> <program>...\n');
    process.exit(1);
  }
  const files = await traceImports(programs);
  let bytes = 0;
  for (const file of files) {
    await mkdir(dirname(join(target, file)), { recursive: true });
    await copyFile(file, join(target, file));
    bytes += (await stat(file)).size;
  }
  process.stdout.write(`${files.length} files, ${(bytes / 1e6).toFixed(1)} MB\n`);
}
