import { casesOf, chunked, get, hidden, host, lines, post, request, target } from './http1-cases.ts';

const te = 'Transfer-Encoding: chunked';
const last = `0\r\n\r\n${hidden}`;

export const smuggling = [
  ...casesOf('400', {
    'CL.TE: both framings may be an attack: refused, and the connection closed (6.1)': post(
      ['Content-Length: 200', te],
      last,
    ),
    'TE.CL: both framings may be an attack: refused, and the connection closed (6.1)': post(
      [te, 'Content-Length: 5'],
      last,
    ),
    'two different lengths: are refused with 400 (6.3)': post(
      ['Content-Length: 2', 'Content-Length: 3'],
      '{}',
    ),
    'two equal lengths: are refused, or taken for one (6.3)': post(
      ['Content-Length: 2', 'Content-Length: 2'],
      '{}',
    ),
    'a list of different lengths: is refused with 400 (6.3)': post(['Content-Length: 2, 3'], '{}'),
    'a list of equal lengths: is refused, or taken for one (6.3)': post(['Content-Length: 2, 2'], '{}'),
    'a negative length: is refused with 400 (6.3)': post(['Content-Length: -2'], '{}'),
    'a length with a sign: is refused with 400 (6.3)': post(['Content-Length: +2'], '{}'),
    'a length in hexadecimal: is refused with 400 (6.3)': post(['Content-Length: 0x2'], '{}'),
    'a length in octal: is refused with 400 (6.3)': post(['Content-Length: 0o2'], '{}'),
    'a length with a space in it: is refused with 400 (6.3)': post(['Content-Length: 1 2'], '{}'),
    'a length after a bare CR: is no header (2.2)': post([`X: y\rContent-Length: 2`], '{}'),
    'a space before the colon of a coding: is refused with 400 (5.1)': post(
      ['Transfer-Encoding : chunked'],
      last,
    ),
    'chunked twice: is refused (6.1)': post([te, te], last),
    'chunked in HTTP/1.0: is faulty: refused, or the connection closed (6.1)': (key) =>
      lines(`POST ${target} HTTP/1.0`, 'KEY', te)(key) + last,
    'a size with an underscore: is no size (7.1)': chunked(`0_2\r\n{}\r\n0\r\n\r\n`),
    'a size with 0x: is no size (7.1)': chunked(`0x2\r\n{}\r\n0\r\n\r\n`),
    'a size after a space: is no size (7.1)': chunked(` 2\r\n{}\r\n0\r\n\r\n`),
    'a negative size: is no size (7.1)': chunked(`-2\r\n{}\r\n0\r\n\r\n`),
    'a chunk that is longer than its size: is refused (7.1)': chunked(`1\r\n{}\r\n0\r\n\r\n`),
    'a chunk without a line end: is refused (7.1)': chunked(`2\r\n{}0\r\n\r\n`),
    'a size that ends with CR: is refused (7.1)': chunked(`2\r{}\r\n0\r\n\r\n`),
    'a bare CR in a value: is refused, or a space (5.5 of RFC 9110)': get('X: y\rZ'),
  }),
  ...casesOf('200', {
    'a length with zeros before it: is decimal (8.6 of RFC 9110)': post(['Content-Length: 002'], '{}'),
    'chunked with a space after it: is chunked (5.1)': post([`${te} `], '0\r\n\r\n'),
    'a Host in a trailer: routes nothing (6.5.1 of RFC 9110)': chunked(`2\r\n{}\r\n0\r\nHost: y\r\n\r\n`),
    'a length of HEAD: its body is no second request (6.3)': request(
      `HEAD ${target} HTTP/1.1`,
      [`Content-Length: ${hidden.length}`],
      hidden,
    ),
    'a header with a line end in its value: is two headers at most (5.5 of RFC 9110)':
      get('X: y\r\nX-Injected: z'),
  }),
  ...casesOf('400 400 501', {
    'xchunked: is no coding that is known: 400 or 501 (6.1)': post(['Transfer-Encoding: xchunked'], last),
    'chunked that is not the last coding: is refused with 400 (6.3)': post(
      ['Transfer-Encoding: chunked, gzip'],
      last,
    ),
    'identity: is no coding any more: 400 or 501 (7)': post(
      ['Transfer-Encoding: identity', 'Content-Length: 2'],
      '{}',
    ),
    'a coding after a comma: empty elements are ignored, or refused (5.6.1 of RFC 9110)': post(
      ['Transfer-Encoding: ,chunked'],
      last,
    ),
    'an empty coding: is no coding (6.1)': post(['Transfer-Encoding:'], last),
  }),
  ...casesOf('400 400 200', {
    'a semicolon without an extension: is no extension (7.1.1)': chunked(`2;\r\n{}\r\n0\r\n\r\n`),
    'a size with a space after it: is refused, or the space dropped (7.1)': chunked(`2 \r\n{}\r\n0\r\n\r\n`),
    'a chunk that ends with LF: is refused (7.1)': chunked(`2\r\n{}\n0\r\n\r\n`),
    'an extension that ends with LF: is refused (7.1.1)': chunked(`2;a=b\n{}\r\n0\r\n\r\n`),
    'a trailer that ends with LF: is refused (7.1.2)': chunked(`2\r\n{}\r\n0\r\nX: y\n\r\n`),
    'a length in a trailer: frames nothing, or is refused (6.5.1 of RFC 9110)': chunked(
      `2\r\n{}\r\n0\r\nContent-Length: 99\r\n\r\n`,
    ),
    'a coding in a trailer: frames nothing, or is refused (6.5.1 of RFC 9110)': chunked(
      `2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ),
  }),
  ...casesOf('204 200 200', {
    'a length of OPTIONS: its body is no second request (6.3)': request(
      `OPTIONS ${target} HTTP/1.1`,
      [`Content-Length: ${hidden.length}`],
      hidden,
    ),
  }),
  ...casesOf('400 200 400', { 'a list of hosts: is no host: 400 (3.2)': host('x, y') }),
  ...casesOf('417 417 200', {
    'Expect with an attack: a refused body is no second request (10.1.1 of RFC 9110)': post(
      ['Expect: magic', `Content-Length: ${hidden.length}`],
      hidden,
    ),
  }),
];
