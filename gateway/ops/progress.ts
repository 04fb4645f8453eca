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
