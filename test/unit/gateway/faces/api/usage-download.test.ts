import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import express, { type Response } from 'express';
import { expect, test } from 'vitest';
import type { Session } from '../../../../../gateway/control/session.ts';
import { createUsageDownload } from '../../../../../gateway/faces/api/usage-download.ts';

test.each(['before the download', 'while the first page is read'])(
  'a browser that leaves %s is no error',
  async (when) => {
    const res = new ServerResponse(new IncomingMessage(new Socket())) as Response;
    Object.setPrototypeOf(res, express.response);
    if (when.startsWith('before')) res.destroy();
    const download = createUsageDownload({ read: (use) => use({} as Session) });
    async function* write() {
      await Promise.resolve(res.destroy());
      yield 'page';
    }
    await expect(download(res, { contentType: 'text/csv', write })).resolves.toBeUndefined();
  },
);
