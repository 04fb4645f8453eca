import { readFileSync } from 'node:fs';

/**
 * How many files and connections the system lets this process open (`ulimit -n`).
 * @returns undefined where it does not say: Linux alone tells it cheaply (proc(5))
 */
export function openFileLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
