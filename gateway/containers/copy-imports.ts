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
 * @param programs entry points, relative to the working directory, as all paths of the result
 * @throws Error if an import leads nowhere
 */
export async function traceImports(programs: readonly string[]): Promise<string[]> {
  const omitted = await omittedPackages();
  const { fileList, warnings } = await nodeFileTrace([...programs], {
    ignore: (path) => omitted.some((folder) => path.startsWith(folder)),
    async readFile(path) {
      const text = await readFile(path, 'utf8');
      return path.endsWith('.ts') && !path.includes('/node_modules/') ? stripTypeScriptTypes(text) : text;
    },
  });
  console.log([...warnings].map(String));
  return ['package.json', ...fileList].toSorted();
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
