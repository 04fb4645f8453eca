import { readFileSync } from 'node:fs';

/** Resident memory of a process; 0 on systems other than Linux. */
export function residentBytes(pid: number): number {
  if (process.platform !== 'linux') return 0;
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}
