import express from 'express';
import { expect, test } from 'vitest';
import { createUsageDownload, type UsageText } from '../../../../../gateway/admin/api/usage-download.ts';

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
