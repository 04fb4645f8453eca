import { spawnSync } from 'node:child_process';
import { createReadStream, createWriteStream, readdirSync, readFileSync, statSync } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';

/**
 * Largest damaged end that is cut off: more than Redis writes in the two seconds that it may leave unsynced. Damage before
 * that is not of a power cut, and what follows it may be the keys of customers.
 */
const maxCutBytes = 16 * 1024 * 1024;

interface AppendOnlyFile {
  /** Path of redis-server or valkey-server. */
  program: string;
  /** Working directory of that server, which is not running. */
  directory: string;
  log: Logger;
}

/**
 * Makes the append-only file ready to be loaded: a power cut leaves zeros or part of a command at its end, with which
 * Redis does not start. They are cut off, and a copy is kept beside the file.
 * @throws Error that names DATA_DIR if the file is damaged elsewhere, or its manifest is missing
 */
export async function repairAppendOnlyFile({ program, directory, log }: AppendOnlyFile): Promise<void> {
  const folder = join(directory, 'appendonlydir');
  const manifest = join(folder, 'appendonly.aof.manifest');
  const wayOut = `restore DATA_DIR from a backup, or move ${directory} away to start without keys`;
  const names = listFiles(folder);
  if (!names.includes(basename(manifest))) {
    if (names.some((name) => holdsData(join(folder, name)))) {
      throw new Error(`DATA_DIR: ${manifest} is missing beside the files that it lists: ${wayOut}`);
    }
    return;
  }
  const { isIntact, report, damaged } = check(program, manifest);
  if (isIntact) return;
  const isLast = readFileSync(manifest, 'utf8').trimEnd().split('\n').at(-1)?.split(' ')[1] === damaged?.name;
  if (damaged === undefined || !isLast || damaged.bytes > maxCutBytes) {
    throw new Error(`DATA_DIR: the files in ${folder} are damaged (${report}): ${wayOut}`);
  }
  const file = join(folder, damaged.name);
  const copy = `${file}.cut-${Date.now()}`;
  await pipeline(
    createReadStream(file, { start: damaged.start }),
    createWriteStream(copy, { flags: 'wx', mode: 0o600, flush: true }),
  );
  await truncate(file, damaged.start);
  log.warn(
    { file, copy, bytes: damaged.bytes },
    `cut ${damaged.bytes} damaged bytes off the end of the append-only file, as a power cut leaves them; what Redis wrote in its last second may be lost`,
  );
}

function listFiles(folder: string): string[] {
  // Whatever else it is, Redis reports.
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(folder) : [];
}

/** A first start that was interrupted before the manifest leaves a base without keys and an empty file. */
function holdsData(file: string): boolean {
  const [, sequence, type] = /\/appendonly\.aof\.(\d+)\.(base|incr)\.(?:aof|rdb)$/.exec(file) ?? [];
  return type === 'incr' ? statSync(file).size > 0 : type === 'base' && sequence !== '1';
}

interface Check {
  isIntact: boolean;
  /** Last line of the program's output. */
  report: string;
  /** File with a damaged end, from `start` on. */
  damaged: { name: string; start: number; bytes: number } | undefined;
}

/** Every redis-server is redis-check-aof if it is called so, and checks what the manifest lists. */
function check(program: string, manifest: string): Check {
  const argv0 = basename(program).replace('server', 'check-aof');
  const { status, stdout } = spawnSync(program, [manifest], { argv0, encoding: 'utf8' });
  // A script in place of the program passes no name on. Then Redis itself reports what it cannot load.
  const ran = typeof stdout === 'string' && stdout.startsWith('Start checking');
  const last = ran ? stdout.slice(stdout.lastIndexOf('AOF analyzed: ')) : '';
  const [, name = '', start, bytes] =
    /^AOF analyzed: filename=(.+), size=\d+, ok_up_to=(\d+), .*diff=(\d+)/.exec(last) ?? [];
  return {
    isIntact: status === 0 || !ran,
    report: ran ? (stdout.trimEnd().split('\n').at(-1) ?? '') : '',
    damaged:
      Number(bytes) > 0 ? { name: basename(name), start: Number(start), bytes: Number(bytes) } : undefined,
  };
}
