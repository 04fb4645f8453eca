import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { send } from '../http/http.ts';
import type { Service } from './service.ts';

export const workers = 3;
export const threeWorkers = { GATEWAY_WORKERS: String(workers) };

/** Requests and metrics of a gateway with several workers. */
export function createGatewayObserver(gateway: () => Pick<Service, 'url' | 'adminUrl'>) {
  const metrics = async () => (await send(`${gateway().adminUrl}/metrics`)).text;
  return {
    /** Lists pets on a new connection, which goes to the next worker. */
    pets: (key: string) => send(`${gateway().url}/v1/pets`, { key, headers: { connection: 'close' } }),
    metrics,
    /** Sum of the series of a metric whose labels contain the text. */
    sum: async (metric: string, labels = '') =>
      (await metrics())
        .split('\n')
        .filter((line) => line.split(/[ {]/)[0] === metric && line.includes(labels))
        .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0),
    readiness: async () => (await send(`${gateway().adminUrl}/readyz`)).json,
  };
}

/** Process ids of all workers started so far, oldest first. Needs LOG_LEVEL info or below. */
function workersOf(output: string): number[] {
  return Array.from(output.matchAll(/"pid":(\d+),"msg":"worker is ready"/g), ([, pid]) => Number(pid));
}

/** Waits until this number of workers has started, and returns their process ids, oldest first. */
export async function waitForWorkers(
  { output }: Pick<Service, 'output'>,
  count: number,
  timeout = 10_000,
): Promise<[number, ...number[]]> {
  await expect.poll(() => workersOf(output()).length, { timeout }).toBe(count);
  const [first = Number.NaN, ...others] = workersOf(output());
  return [first, ...others];
}

/** Whether the process exists and is no zombie; Linux only, see proc(5). */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
