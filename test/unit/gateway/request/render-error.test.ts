import { createServer } from 'node:http';
import express from 'express';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ResponseHeaders } from '../../../../gateway/platform/http/response.ts';
import { renderError, renderFallback } from '../../../../gateway/request/render-error.ts';
import { send } from '../../../support/http/http.ts';
import { listening } from '../../../support/http/listening.ts';

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
  using server = await listening(createServer(app));
  const response = await send(`${server.url}/v1/pets`);
  expect(response).toMatchObject({
    status: 500,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
  expect(response.json).toEqual({ code: 'internal_error', message: expect.any(String), status: 500 });
  expect(lines.join('')).toContain('detail for the log');
});
