import { readFileSync } from 'node:fs';

/** For the log, Redis, probes, the admin port and what else a process has open. */
const reserve = 100;

/**
 * How many connections of clients this process can have, given what the system lets it open: beyond, the system
 * would refuse connections without a word, those of the admin port among them.
 * @param upstreamConnections that may be open at the same time
 * @returns undefined where the system does not say
 */
export function connectionsLeft(upstreamConnections: number): number | undefined {
  const limit = openFileLimit();
  return limit === undefined ? undefined : Math.max(1, limit - upstreamConnections - reserve);
}

/** Linux alone tells it cheaply (proc(5)). */
function openFileLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
