import type { Request } from 'express';
import { expect, test } from 'vitest';
import { createCompression } from '../../../../gateway/http/compression.ts';

const body = Buffer.from(JSON.stringify('x'.repeat(10_000)));
const req = {
  headers: { 'accept-encoding': 'gzip' },
  acceptsEncodings: () => 'gzip',
} as unknown as Request;

test('two bodies are compressed at a time, and others are sent as they are', async () => {
  const { compress } = createCompression({ compressMinBytes: 1 });
  const both = [compress(req, body), compress(req, body)];
  expect(compress(req, body)).toBeUndefined();
  for (const each of both) expect((await each)?.length).toBeLessThan(200);
  expect(compress(req, body)).toBeDefined();
});

test.each([
  ['application/json', true],
  ['application/json; charset=utf-8', true],
  ['application/problem+json', true],
  ['text/csv; header=present', true],
  ['APPLICATION/XML', true],
  ['image/svg+xml', false],
  ['text/event-stream', false],
  ['application/jsonp', false],
  ['application/octet-stream', false],
  ['image/png', false],
  [undefined, false],
])('a body of the type %s depends on Accept-Encoding: %s', (type, expected) => {
  const { applies } = createCompression({ compressMinBytes: 1 });
  expect(applies({ 'content-type': type }, body)).toBe(expected);
});
