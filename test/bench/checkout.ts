import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

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
  } else {
    await run('npm', ['ci', '--omit=dev', '--ignore-scripts'], { cwd: directory });
  }
}
