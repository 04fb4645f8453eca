import { readdir, readFile } from 'node:fs/promises';

/** CPU time in seconds. */
export interface CpuTime {
  /** Exact to the nanosecond: the scheduler's own account. */
  total: number;
  /** Exact to ten milliseconds. */
  user: number;
  system: number;
}

const ticksPerSecond = 100;

/** CPU time of all threads of a process so far. */
export async function cpuTimeOf(pid: number): Promise<CpuTime> {
  const threads = await readdir(`/proc/${pid}/task`);
  const nanoseconds = await Promise.all(threads.map((thread) => threadNanoseconds(pid, thread)));
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // Fields 14 and 15 in proc(5). The process name before them may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    total: nanoseconds.reduce((sum, part) => sum + part, 0) / 1e9,
    user: Number(fields[11]) / ticksPerSecond,
    system: Number(fields[12]) / ticksPerSecond,
  };
}

/** A thread may have ended since it was listed. */
async function threadNanoseconds(pid: number, thread: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
  return Number(text.split(' ')[0]);
}
