/** Time before the line appears: what takes less needs none. */
const delayMs = 500;
const refreshMs = 100;
const clearLine = '\r\u{1B}[K';

export interface ProgressLine {
  update(done: number, total: number): void;
  /** Removes the line, so that other text can be printed. */
  clear(): void;
}

/** A line on the terminal about something that takes long, such as "12,000 of 300,000 keys". Nothing without a terminal. */
export function createProgressLine(noun: string): ProgressLine {
  let nextMs = Date.now() + delayMs;
  let shown = false;
  return {
    update(done, total) {
      if (!process.stderr.isTTY || Date.now() < nextMs) return;
      nextMs = Date.now() + refreshMs;
      shown = true;
      const [scanned, all] = [done, total].map((count) => count.toLocaleString('en'));
      process.stderr.write(`${clearLine}${scanned} of ${all} ${noun}`);
    },
    clear() {
      if (shown) process.stderr.write(clearLine);
      shown = false;
    },
  };
}
