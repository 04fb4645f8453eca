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
