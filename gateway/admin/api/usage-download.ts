import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { daysOfMonth } from '../../operations/usage-months.ts';
import { exportUsage, usageCsv } from '../../operations/usage-record.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';
import type { Api } from './route.ts';

/** Each reads all keys, in the process that may serve requests as well. */
const maxDownloads = 2;
const maxRestMs = 1000;

/** Creates the download of the use of a month, which takes the memory of a page of keys. */
export function createUsageDownload({ read }: Pick<ApiDependencies, 'read'>): Api['downloadUsage'] {
  let running = 0;
  return async function downloadUsage(res, month) {
    if (running === maxDownloads) {
      throw new ApiError('too_many_requests', {
        message: `${maxDownloads} downloads of this gateway are under way. Try again when one is complete.`,
        headers: { 'Retry-After': '10' },
      });
    }
    running += 1;
    try {
      await read(async (session) => {
        res.set({
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Disposition': `attachment; filename="usage-${month}.csv"`,
          'Cache-Control': 'no-store',
        });
        const rows = usageCsv(exportUsage(session, daysOfMonth(month), () => {}));
        await pipeline(Readable.from(restAfterEach(rows)), res);
      });
    } catch (error) {
      // The browser has left.
      if (res.headersSent && isEarlyClose(error)) return;
      throw error;
    } finally {
      running -= 1;
    }
  };
}

/** Leaves requests and other commands half of the time. */
async function* restAfterEach(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let startMs = performance.now();
  for await (const text of texts) {
    yield text;
    await sleep(Math.min(performance.now() - startMs, maxRestMs));
    startMs = performance.now();
  }
}

function isEarlyClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
