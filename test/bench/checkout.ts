import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const ablations = fileURLToPath(new URL('ablations/', import.meta.url));

/**
 * Puts a commit into a directory, with the packages that it names.
 * @throws Error if there is no such commit
 */
export async function checkOut(commit: string, directory: string): Promise<void> {
  await mkdir(directory);
  const archive = join(directory, 'commit.tar');
  try {
    await run('git', ['archive', '--output', archive, `${commit}^{commit}`], { cwd: root });
  } catch (error) {
    throw new Error(`there is no commit ${commit}`, { cause: error });
  }
  await run('tar', ['-xf', archive, '-C', directory]);
  const lock = (folder: string) => readFile(join(folder, 'package-lock.json'), 'utf8');
  if ((await lock(directory)) === (await lock(root))) {
    await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
    await symlink(join(root, 'pets-service/generated'), join(directory, 'pets-service/generated'));
  } else {
    await run('npm', ['ci', '--omit=dev', '--ignore-scripts'], { cwd: directory });
  }
}

/**
 * Puts the present sources, changes that are not committed included, into a directory, and takes one contortion for speed
 * out of them.
 * @param name of a patch in ablations/
 * @throws Error if there is no such patch, or if it does not fit the sources
 */
export async function withoutContortion(name: string, directory: string): Promise<void> {
  const { stdout: changes } = await run('git', ['stash', 'create'], { cwd: root });
  await checkOut(changes.trim() === '' ? 'HEAD' : changes.trim(), directory);
  await applyAblation(name, directory);
}

/** Names of all patches that take a contortion for speed out of the sources. */
export async function listAblations(): Promise<string[]> {
  const files = await readdir(ablations);
  return files.map((file) => file.replace(/\.patch$/, ''));
}

/** @throws Error if there is no such patch, or if it does not fit the sources in the directory */
export async function applyAblation(name: string, directory: string): Promise<void> {
  const known = await listAblations();
  if (!known.includes(name)) throw new Error(`there is no ablation ${name}, but ${known.join(', ')}`);
  await run('git', ['apply', '-p0', join(ablations, `${name}.patch`)], { cwd: directory });
}
