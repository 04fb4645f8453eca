import { SingleBar } from 'cli-progress';

/**
 * Shows progress on standard error while something runs that prints many lines, if that is a terminal and the lines go
 * elsewhere: on the same terminal they show the progress, and the bar would overwrite them.
 * @param what what is counted, such as keys
 */
export async function withProgress<T>(
  what: string,
  total: number,
  use: (onProgress: (count: number) => void) => Promise<T>,
): Promise<T> {
  if (process.stdout.isTTY) return use(() => {});
  const bar = new SingleBar({ format: `{bar} {value} of {total} ${what}`, stream: process.stderr });
  bar.start(total, 0);
  try {
    return await use((count) => bar.update(count));
  } finally {
    bar.stop();
  }
}

/** Time before the line appears: what takes less needs none. */
const delayMs = 500;
const refreshMs = 100;
const clearLine = '\r\u{1B}[K';

/** A line on the terminal about something that takes long, such as "12,000 of 300,000 keys". Nothing without a terminal. */
export function createProgressLine(noun: string) {
  let nextMs = Date.now() + delayMs;
  let shown = false;
  return {
    update(done: number, total: number) {
      if (!process.stderr.isTTY || Date.now() < nextMs) return;
      nextMs = Date.now() + refreshMs;
      shown = true;
      const [scanned, all] = [done, total].map((count) => count.toLocaleString('en'));
      process.stderr.write(`${clearLine}${scanned} of ${all} ${noun}`);
    },
    /** Removes the line, so that other text can be printed. */
    clear() {
      if (shown) process.stderr.write(clearLine);
      shown = false;
    },
  };
}

/** Shows such a line while something runs. */
export async function withProgressLine<T>(
  noun: string,
  run: (onProgress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const line = createProgressLine(noun);
  try {
    return await run(line.update);
  } finally {
    line.clear();
  }
}

/** Aborted by the first SIGINT or SIGTERM; the next one ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort(name));
  return controller.signal;
}
