import { readFileSync } from 'node:fs';

/** Memory of a process, where the system tells; elsewhere 0. */
export function residentBytes(pid: number): number {
  if (process.platform !== 'linux') return 0;
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}
