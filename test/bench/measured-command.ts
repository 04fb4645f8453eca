import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';

export interface MeasuredCommand {
  /** Lines on standard output. */
  lines: number;
  seconds: number;
  /** Most memory that the process took. */
  peakMiB: number;
}

/** Runs the ops command to its end, and reads its output as fast as it comes. Linux only. */
export async function measureOps(url: string, args: readonly string[]): Promise<MeasuredCommand> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['gateway/ops/main.ts', ...args], {
    env: { ...process.env, REDIS_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let [lines, peakKiB] = [0, 0];
  child.stdout.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) lines += 1;
  });
  const sampler = setInterval(() => {
    readFile(`/proc/${child.pid}/status`, 'utf8').then(
      (status) => {
        peakKiB = Math.max(peakKiB, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0));
      },
      () => {},
    );
  }, 50);
  const [code] = await once(child, 'close');
  clearInterval(sampler);
  if (code !== 0) throw new Error(`ops ${args.join(' ')} exited with ${String(code)}`);
  return { lines, seconds: (performance.now() - startedAt) / 1000, peakMiB: peakKiB / 1024 };
}
