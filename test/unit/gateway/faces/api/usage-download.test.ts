import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import express, { type Response } from 'express';
import { expect, test } from 'vitest';
import type { Session } from '../../../../../gateway/control/session.ts';
import { createUsageDownload, type UsageText } from '../../../../../gateway/faces/api/usage-download.ts';

test('two downloads run at a time, and a third one is refused until one of them ends', async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  const download = createUsageDownload({ read: () => promise });
  const res = Object.create(express.response) as typeof express.response;
  const text: UsageText = { contentType: 'text/csv', write: () => expect.unreachable() };
  const running = [download(res, text), download(res, text)];
  await expect(download(res, text)).rejects.toMatchObject({
    code: 'too_many_requests',
    message: expect.stringContaining('2 downloads') as unknown,
  });
  reject(new Error('Redis is unavailable'));
  for (const one of running) await expect(one).rejects.toThrow('Redis is unavailable');
  await expect(download(res, text)).rejects.toThrow('Redis is unavailable');
});

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
