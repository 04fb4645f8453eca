import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { normalizeTarget } from '../../gateway/http/normalize-target.ts';

/** The target that all later steps see. The socket is never connected. */
function normalized(target: string): string | undefined {
  const req = new IncomingMessage(new Socket());
  req.url = target;
  normalizeTarget(req);
  return req.url;
}

test.each([
  ['http://api.example/v1/pets?limit=1', '/v1/pets?limit=1'],
  ['https://api.example:8443/v1/pets', '/v1/pets'],
  ['HTTP://API.EXAMPLE/v1/Pets', '/v1/Pets'],
  ['http://user:secret@api.example/v1/pets', '/v1/pets'],
  ['http://[::1]:8080/v1/pets', '/v1/pets'],
  ['http://api.example', '/'],
  ['http://api.example/', '/'],
  ['http://api.example?limit=1', '/?limit=1'],
])('%s asks for %s', (target, path) => {
  expect(normalized(target)).toBe(path);
});

test.each([
  '/v1/pets',
  '/v1/pets?next=http://other.example/v1',
  '//other.example/v1/pets',
  '/http://other.example/v1',
  '/v1/%2e%2e/pets',
  '/v1/../pets',
  '*',
  'ftp://api.example/v1/pets',
  'view+http://api.example/v1/pets',
  'v1/pets',
  '',
])('%s stays as it came', (target) => {
  expect(normalized(target)).toBe(target);
});
