import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ResponseHeaders } from '../../../../gateway/platform/http/response.ts';
import { renderError, renderFallback } from '../../../../gateway/request/render-error.ts';

test('an error that cannot be rendered gets 500 in the Error shape, and its detail is logged', async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const addressLimit = {
    charge: () => Promise.reject(new Error('not called')),
    peek: () => Promise.reject(new Error('detail for the log')),
    wasRefused: () => false,
  };
  const app = express();
  app.use((_req, res) => {
    res.locals.headers = new ResponseHeaders();
    res.locals.isOfApi = true;
    throw new Error('first');
  });
  app.use(
    renderError({
      publicAddress: { baseUrl: () => '' },
      addressLimit,
      giveBack: () => Promise.resolve(),
      log,
      now: Date.now,
    }),
  );
  app.use(renderFallback({ log }));
  const server = createServer(app);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/pets`);
    expect(response.status).toBe(500);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual({
      code: 'internal_error',
      message: expect.any(String),
      status: 500,
    });
    expect(lines.join('')).toContain('detail for the log');
  } finally {
    server.close();
  }
});
