import { casesOf, chunked, get, post, request, target } from './http1-cases.ts';

export const malformed = [
  ...casesOf('400', {
    'binary garbage: is refused or closed (3)': () => '\x00\x01\xff\xfe\r\n\r\n',
    'white space only: is no request (3)': () => '   \r\n\r\n',
    'the preface of HTTP/2: is refused by what speaks no HTTP/2 (3.4 of RFC 9113)': () =>
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a NUL in the target: is refused (3.2)': request(`GET ${target}\0 HTTP/1.1`),
    'a NUL in a header: is refused, or a space (5.5 of RFC 9110)': get('X: y\0z'),
    'a control character in a header: is refused, or kept (5.5 of RFC 9110)': get('X: y\x01z'),
    'a NUL in a header name: is refused (5.1 of RFC 9110)': get('X\0: y'),
    'a space in a header name: is refused (5.1 of RFC 9110)': get('X Y: z'),
    'a target beyond ASCII: should be refused (3.2)': request(`GET ${target}/\xe4 HTTP/1.1`),
    'a length of 2^64: is refused (6.3)': post(['Content-Length: 18446744073709551616']),
    'an empty length: is refused with 400 (6.3)': post(['Content-Length:']),
    'a chunk of 2^64: is refused (7.1)': chunked('10000000000000000\r\n{}\r\n'),
    'a backslash in the target: is no character of a target (3.2)': request(
      String.raw`GET \v1\pets HTTP/1.1`,
    ),
  }),
  ...casesOf('408 408 -', {
    'nothing but a line end: is no request (2.2)': () => '\r\n\r\n',
    'a request that ends within its headers: is incomplete (8)': () => `GET ${target} HTTP/1.1\r\nHost: x`,
  }),
  ...casesOf('431 431 414', {
    'a target of 64 kB: gets 414 or 431 (3)': request(`GET ${target}?${'a'.repeat(65_536)} HTTP/1.1`),
  }),
  ...casesOf('431 431 400', {
    'a header value of 64 kB: gets a 4xx (5.4 of RFC 9110)': get(`X: ${'a'.repeat(65_536)}`),
    'a header name of 64 kB: gets a 4xx (5.4 of RFC 9110)': get(`${'a'.repeat(65_536)}: x`),
    'a thousand headers: get a 4xx (5.4 of RFC 9110)': get(
      ...Array.from({ length: 1000 }, (_, index) => `X${index}: y`),
    ),
  }),
  ...casesOf('400 400 414', {
    'a method of 64 kB: gets a 4xx or 501 (3)': request(`${'A'.repeat(65_536)} ${target} HTTP/1.1`),
  }),
  ...casesOf('400 400 200', { 'a name beyond ASCII: is refused (5.1 of RFC 9110)': get('X\xe4: y') }),
  ...casesOf('200', { 'a value beyond ASCII: is opaque (5.5 of RFC 9110)': get('X: \xe4') }),
  ...casesOf('413 408 413', {
    'a length of 1 TB: is refused before the body (6.3)': post(['Content-Length: 1099511627776']),
  }),
  ...casesOf('413 413 200', {
    'an extension of 64 kB: should be limited (7.1.1)': chunked(
      `2;a=${'b'.repeat(65_536)}\r\n{}\r\n0\r\n\r\n`,
    ),
  }),
  ...casesOf('400 200 400', {
    'a path with %00: leads nowhere (3.2)': request(`GET ${target}/%00 HTTP/1.1`),
  }),
  ...casesOf('400 200 200', {
    'a path with %0d%0a: leads nowhere (3.2)': request(`GET ${target}/%0d%0aX:y HTTP/1.1`),
    'a path that leaves its root: leads nowhere (5.2.4 of RFC 3986)': request(
      `GET ${target}/../../etc/passwd HTTP/1.1`,
    ),
    'a path that is encoded and leaves its root: leads nowhere (5.2.4 of RFC 3986)': request(
      `GET ${target}/%2e%2e/%2e%2e/x HTTP/1.1`,
    ),
  }),
  ...casesOf('404 200 200', {
    'a path in overlong UTF-8: leads nowhere (3.2)': request(`GET ${target}/%c0%ae HTTP/1.1`),
  }),
];

export const normalization = [
  ...casesOf('200', {
    'Content_Length: is another header than Content-Length (5.1 of RFC 9110)': get('Content_Length: 99'),
    'Transfer_Encoding: is another header than Transfer-Encoding (5.1 of RFC 9110)': get(
      'Transfer_Encoding: chunked',
    ),
    'a coding in mixed case: is the same (7)': post(['tRANSFER-eNCODING: ChUnKeD'], '0\r\n\r\n'),
  }),
  ...casesOf('400', {
    'a space before the colon of a length: is refused with 400 (5.1)': post(['Content-Length : 2'], '{}'),
    'a tab in a name: is refused (5.1 of RFC 9110)': get('Content\tLength: 99'),
  }),
  ...casesOf('404 200 200', {
    'a path in another case: is another path (4.2.3 of RFC 9110)': request('GET /V1/pets HTTP/1.1'),
    'a path with two slashes: is another path (4.2.3 of RFC 9110)': request('GET //v1/pets HTTP/1.1'),
    'an encoded letter in a path: is equivalent, or leads nowhere (4.2.3 of RFC 9110)':
      request('GET /v1/%70ets HTTP/1.1'),
  }),
];
