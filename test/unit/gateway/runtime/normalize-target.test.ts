import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { hasInvalidTarget, normalizeTarget } from '#runtime/normalize-target.ts';
import { expect, test } from 'vitest';

/** A request whose socket is never connected. */
function requestFor(target: string, method = 'GET'): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { url: target, method });
}

/** Target that the later steps receive. */
function normalized(target: string): string | undefined {
  const req = requestFor(target);
  normalizeTarget(req);
  expect(hasInvalidTarget(req)).toBe(false);
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
])('%s is normalized to %s', (target, path) => {
  expect(normalized(target)).toBe(path);
});

test.each([
  '/v1/pets',
  '/v1/pets?next=http://other.example/v1',
  '//other.example/v1/pets',
  '/http://other.example/v1',
  '/v1/%2e%2e/pets',
  '/v1/../pets',
])('%s stays unchanged', (target) => {
  expect(normalized(target)).toBe(target);
});

test.each([
  ['*', '/'],
  ['ftp://api.example/v1/pets', '/'],
  ['view+http://api.example/v1/pets', '/'],
  ['p://[/v1/pets', '/'],
  ['v1/pets', '/'],
  ['', '/'],
  ['/v1/pets#x', '/v1/pets'],
  ['/v1#/pets?x', '/v1'],
  ['http://api.example#/v1/pets', '/'],
])('%s is not a valid target', (target, url) => {
  const req = requestFor(target);
  normalizeTarget(req);
  expect(hasInvalidTarget(req)).toBe(true);
  expect(req.url).toBe(url);
});

test('* is a valid target of OPTIONS', () => {
  const req = requestFor('*', 'OPTIONS');
  normalizeTarget(req);
  expect(hasInvalidTarget(req)).toBe(false);
  expect(req.url).toBe('*');
});
