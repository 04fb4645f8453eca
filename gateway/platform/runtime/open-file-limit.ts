import { readFileSync } from 'node:fs';

/**
 * Number of files and connections that the system lets this process open (`ulimit -n`).
 * @returns undefined on systems without /proc/self/limits (proc(5)), which is all but Linux
 */
export function openFileLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
