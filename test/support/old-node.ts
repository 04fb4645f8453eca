import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** A Node on the PATH that is older than the project's; undefined if there is none. */
export const oldNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find((node) => {
    const [, major] = /^v(\d+)\./.exec(String(spawnSync(node, ['--version']).stdout)) ?? [];
    return Number(major) < 26;
  });
