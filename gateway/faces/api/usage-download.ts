import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Response } from 'express';
import type { ReadingSession } from '../../control/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';

/** Each reads all keys, in the process that may serve requests as well. */
const maxDownloads = 2;
const maxRestMs = 1000;

/** A text with the use of all customers, which takes the memory of a page of them. */
export interface UsageText {
  contentType: string;
  /** Under which a browser saves it; undefined for a response to a program. */
  fileName?: string;
  write: (session: ReadingSession) => AsyncIterable<string>;
}

/** Streams a text. @throws ApiError if too many are under way */
export type DownloadUsage = (res: Response, text: UsageText) => Promise<void>;

/** Creates the download of such texts. */
export function createUsageDownload({ read }: Pick<ApiDependencies, 'read'>): DownloadUsage {
  let running = 0;
  return async function downloadUsage(res, { contentType, fileName, write }) {
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
          'Content-Type': contentType,
          ...(fileName === undefined ? {} : { 'Content-Disposition': `attachment; filename="${fileName}"` }),
          'Cache-Control': 'no-store',
        });
        await pipeline(Readable.from(restAfterEach(write(session))), res);
      });
    } catch (error) {
      // The browser has left.
      if (isEarlyClose(error)) return;
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

/** Of a response that was closed before or while the text is sent. */
const earlyCloses = new Set<unknown>(['ERR_STREAM_UNABLE_TO_PIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

function isEarlyClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && earlyCloses.has(error.code);
}
