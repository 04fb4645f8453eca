import { copyFile, mkdir, readFile, stat } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { nodeFileTrace } from '@vercel/nft';
import { z } from 'zod';

/*
 * Copies the files that programs of this project load into the folder of an image. Run it at the top of the project:
 *
 *   node gateway/containers/copy-imports.ts ../image gateway/server.ts gateway/ops/main.ts
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
    ignore: (path) => omitted.some((folder) => path.startsWith(folder)),
    readFile: readSource,
  });
  // Packages try modules that are not there, such as pg-native; the project's own sources do not.
  const missing = Array.from(warnings, ({ message }) => message).filter((message) =>
    /loaded from (?!.*[/]node_modules[/])/.test(message),
  );
  if (missing.length > 0) throw new Error(missing.join('\n'));
  const others = programs.filter((path) => !isProgram(path));
  return ['package.json', ...others, ...fileList].toSorted();
}

const isProgram = (path: string) => path.endsWith('.ts');

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
