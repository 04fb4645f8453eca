import { describe, expect, test } from 'vitest';
import { ResponseHeaders } from '../../../../../gateway/platform/http/response-headers.ts';

describe('response headers', () => {
  test('alternate names and values, in the order in which they were first set', () => {
    const headers = new ResponseHeaders(['X-Request-Id', 'a']);
    headers.setAll({ Allow: 'GET', 'Retry-After': '1' });
    headers.set('Set-Cookie', ['a=1', 'b=2']);
    headers.set('Allow', 'GET, POST');
    expect(headers.toRaw()).toEqual([
      'X-Request-Id',
      'a',
      'Allow',
      'GET, POST',
      'Retry-After',
      '1',
      'Set-Cookie',
      ['a=1', 'b=2'],
    ]);
  });

  test('match names in any case and keep the first spelling', () => {
    const headers = new ResponseHeaders(['X-RateLimit-Limit', '60']);
    headers.set('x-ratelimit-limit', '300');
    expect(headers.has('X-RATELIMIT-LIMIT')).toBe(true);
    expect(headers.toRaw()).toEqual(['X-RateLimit-Limit', '300']);
  });

  test('do not match a value as a name', () => {
    const headers = new ResponseHeaders(['X-Request-Id', 'Cache-Control']);
    expect(headers.has('Cache-Control')).toBe(false);
    headers.set('Cache-Control', 'no-store');
    expect(headers.toRaw()).toEqual(['X-Request-Id', 'Cache-Control', 'Cache-Control', 'no-store']);
  });

  test('stay unchanged when a copy changes', () => {
    const headers = new ResponseHeaders(['Allow', 'GET']);
    headers.copy().set('Link', '</v1/pets>');
    expect(headers.toRaw()).toEqual(['Allow', 'GET']);
  });
});

test('append adds a header, or an element to its list, whatever the case of its name', () => {
  const headers = new ResponseHeaders(['link', ['</a>; rel="x"', '</b>; rel="y"']]);
  headers.append('Link', '</c>; rel="help"');
  headers.append('Vary', 'Accept');
  expect(headers.toRaw()).toEqual([
    'link',
    '</a>; rel="x", </b>; rel="y", </c>; rel="help"',
    'Vary',
    'Accept',
  ]);
});
