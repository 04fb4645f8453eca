import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { send } from '../http/http.ts';
import type { Service } from './service.ts';

export const workers = 3;
export const threeWorkers = { GATEWAY_WORKERS: String(workers) };

/** What a client and an operator see of a gateway of several workers. */
export function lookAt(gateway: () => Pick<Service, 'url' | 'adminUrl'>) {
  const metrics = async () => (await send(`${gateway().adminUrl}/metrics`)).text;
  return {
    /** On a connection of its own, which goes to the next worker. */
    pets: (key: string) => send(`${gateway().url}/v1/pets`, { key, headers: { connection: 'close' } }),
    metrics,
    /** Sum over all series of a metric whose labels contain the text. */
    sum: async (metric: string, labels = '') =>
      (await metrics())
        .split('\n')
        .filter((line) => line.split(/[ {]/)[0] === metric && line.includes(labels))
        .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0),
    readiness: async () => (await send(`${gateway().adminUrl}/readyz`)).json,
  };
}

/** Process ids of all workers that a gateway has said are serving, the oldest first. Needs LOG_LEVEL info or below. */
function workersOf(output: string): number[] {
  return Array.from(output.matchAll(/"pid":(\d+),"msg":"worker serves"/g), ([, pid]) => Number(pid));
}

/** The same, once there are or have been so many. */
export async function untilWorkers(
  { output }: Pick<Service, 'output'>,
  count: number,
  timeout = 10_000,
): Promise<[number, ...number[]]> {
  await expect.poll(() => workersOf(output()).length, { timeout }).toBe(count);
  const [first = Number.NaN, ...others] = workersOf(output());
  return [first, ...others];
}

/** Ids of the workers that have logged requests. */
export function busyWorkersOf({ output }: Pick<Service, 'output'>): string[] {
  const lines = output().matchAll(/"worker":(\d+),.*"msg":"request"/g);
  return [...new Set(Array.from(lines, ([, id = '']) => id))];
}

/** Whether there is such a process that has not ended; Linux alone tells, see proc(5). */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
