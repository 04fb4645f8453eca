import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { hasInvalidTarget, normalizeTarget } from '../../../../../gateway/platform/http/request.ts';

/** A request whose socket is never connected. */
function requestFor(target: string, method = 'GET'): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { url: target, method });
}

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
