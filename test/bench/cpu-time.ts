import { readdir, readFile } from 'node:fs/promises';

/** CPU time of all threads of a process so far, in seconds: the scheduler's own account, exact to the nanosecond. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  // A thread may have ended since it was listed.
  const read = (thread: string) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
  const nanoseconds = (await Promise.all(threads.map(read))).map((text) => Number(text.split(' ')[0]));
  return nanoseconds.reduce((sum, part) => sum + part, 0) / 1e9;
}
