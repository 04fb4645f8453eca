import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { ReadingSession } from '../../control/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';

/** A text with the use of all customers, which takes the memory of a page of them. */
export interface UsageText {
  contentType: string;
  /** Under which a browser saves it; undefined for a response to a program. */
  fileName?: string;
  write: (session: ReadingSession) => AsyncIterable<string>;
}

/** Streams a text. */
export type DownloadUsage = (res: Response, text: UsageText) => Promise<void>;

/** Creates the download of such texts. */
export function createUsageDownload({ read }: Pick<ApiDependencies, 'read'>): DownloadUsage {
  return async function downloadUsage(res, { contentType, fileName, write }) {
    try {
      await read(async (session) => {
        res.set({
          'Content-Type': contentType,
          ...(fileName === undefined ? {} : { 'Content-Disposition': `attachment; filename="${fileName}"` }),
          'Cache-Control': 'no-store',
        });
        await pipeline(Readable.from(write(session)), res);
      });
    } catch (error) {
      // The browser has left.
      if (!isEarlyClose(error)) throw error;
    }
  };
}

/** Of a response that was closed before or while the text is sent. */
const earlyCloses = new Set<unknown>(['ERR_STREAM_UNABLE_TO_PIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

function isEarlyClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && earlyCloses.has(error.code);
}
