import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { planted, type Planted } from './planted-faults.ts';

/*
 * npm run histories:planted: plants faults in a copy of the sources, one at a time, and tells in how many seeds the checker
 * finds each. It fails if one is found in none.
 */

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1-4' },
    shards: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
  },
});
const root = fileURLToPath(new URL('../..', import.meta.url));
await using copy = await temporaryDirectory();
for (const part of ['gateway', 'prisma', 'test', 'package.json', 'tsconfig.json'])
  await cp(join(root, part), join(copy.path, part), {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  });
await symlink(join(root, 'node_modules'), join(copy.path, 'node_modules'));

async function plant({ edits }: Planted): Promise<() => Promise<void>> {
  const before = await Promise.all(
    edits.map(async ({ file }) => [file, await readFile(join(copy.path, file), 'utf8')] as const),
  );
  for (const { file, before: from, after } of edits) {
    const path = join(copy.path, file);
    const text = await readFile(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} has no ${JSON.stringify(from)}`);
    await writeFile(
      path,
      text.replace(from, () => after),
    );
  }
  return async () => {
    for (const [file, text] of before) await writeFile(join(copy.path, file), text);
  };
}

/** @returns what `npm run histories` prints in the copy */
function runHistories(): Promise<string> {
  const { only: _only, ...passed } = { ...values, tries: '0' };
  const args = Object.entries(passed).flatMap(([name, value]) => [`--${name}`, value]);
  return new Promise((resolve) => {
    const env = { ...process.env, NODE_COMPILE_CACHE: join(copy.path, 'compiled') };
    const options = { cwd: copy.path, env, maxBuffer: 1e9 };
    execFile(process.execPath, ['test/histories/histories.ts', ...args], options, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

for (const one of planted.filter(({ name }) => name.includes(values.only))) {
  const remove = await plant(one);
  const output = await runHistories();
  await remove();
  const results = [...output.matchAll(/^seed \d+: .* (\d+) violations$/gm)].map(([, count]) => Number(count));
  if (results.length === 0) throw new Error(output);
  const found = results.filter((count) => count > 0).length;
  const broken = new Set(Array.from(output.matchAll(/^([A-Za-z].*): \d+$/gm), ([, promise]) => promise));
  const rare = one.isRare ? ' (rare)' : '';
  console.log(`${one.name}${rare}: found in ${found} of ${results.length}: ${[...broken].join(', ')}`);
  if (found > 0 === (one.edits.length === 0)) process.exitCode = 1;
}
