import { spawnSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';

interface AppendOnlyFile {
  /** Path of redis-server or valkey-server. */
  program: string;
  /** Working directory of that server, which is not running. */
  directory: string;
  log: Logger;
}

/**
 * Makes the append-only file ready to be loaded: a power cut leaves zeros or part of a command at its end, with which Redis does
 * not start. redis-check-aof, which comes with redis-server, cuts them off; a copy of the files is kept beside them.
 * @throws Error that names DATA_DIR if the files are damaged elsewhere
 */
export function fixAppendOnlyFile({ program, directory, log }: AppendOnlyFile): void {
  const folder = join(directory, 'appendonlydir');
  const manifest = join(folder, 'appendonly.aof.manifest');
  const checkAof = join(dirname(program), basename(program).replace('server', 'check-aof'));
  // Without the program, Redis itself reports what it can't load.
  if (!existsSync(manifest) || !existsSync(checkAof)) return;
  if (spawnSync(checkAof, [manifest]).status === 0) return;
  const copy = `${folder}.damaged-${Date.now()}`;
  cpSync(folder, copy, { recursive: true });
  const { status, stdout } = spawnSync(checkAof, ['--fix', manifest], { input: 'y\n', encoding: 'utf8' });
  if (status !== 0) {
    throw new Error(
      `DATA_DIR: the files in ${folder} are damaged (${stdout.trimEnd().split('\n').at(-1)}): restore DATA_DIR from a backup, or move ${directory} away to start without keys`,
    );
  }
  log.warn(
    { copy },
    `the append-only file was damaged; redis-check-aof cut off its end, and ${copy} has it whole`,
  );
}
