import { SingleBar } from 'cli-progress';

/**
 * Shows progress on standard error while something runs, if that is a terminal.
 * @param what what is counted, such as keys
 */
export async function withProgress<T>(
  what: string,
  total: number,
  use: (onProgress: (count: number) => void) => Promise<T>,
): Promise<T> {
  const bar = new SingleBar({ format: `{bar} {value} of {total} ${what}`, stream: process.stderr });
  bar.start(total, 0);
  try {
    return await use((count) => bar.update(count));
  } finally {
    bar.stop();
  }
}
