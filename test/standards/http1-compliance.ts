import { casesOf, chunked, get, hidden, host, lines, post, request, target } from './http1-cases.ts';

export const compliance = [
  ...casesOf('200', {
    'baseline: a valid request is served (2.1)': get(),
    'one empty line before the request: should be ignored (2.2)': (key) => `\r\n${get()(key)}`,
    'two spaces in the start line: may be taken for one, or is refused (3)': request(
      `GET  ${target} HTTP/1.1`,
    ),
    'absolute form: is served (3.2.2)': request(`GET http://x${target} HTTP/1.1`),
    'absolute form of another host: the Host of the target counts, or the request is refused (3.2.2)':
      request(`GET http://y${target} HTTP/1.1`),
    'HTTP/1.0 without Host: is served (3.2)': lines(`GET ${target} HTTP/1.0`, 'KEY'),
    'a header without a value: is valid (5)': get('X:'),
    'tabs and spaces around a value: are no part of it (5)': get('Expect:\t 100-continue \t'),
    'Content-Length and body: is served (6.2)': post(['Content-Length: 2'], '{}'),
    'Content-Length: 0: is served (6.2)': post(['Content-Length: 0']),
    'POST without a length: has no body (6.3)': post([]),
    'GET with a body: its body is no second request (9.3.1 of RFC 9110)': request(
      `GET ${target} HTTP/1.1`,
      ['Content-Length: 2'],
      '{}',
    ),
    'one chunk: is served (7.1)': chunked('2\r\n{}\r\n0\r\n\r\n'),
    'several chunks: are one body (7.1)': chunked('1\r\n{\r\n1\r\n}\r\n0\r\n\r\n'),
    'no chunk but the last: is an empty body (7.1)': chunked('0\r\n\r\n'),
    'a size in capitals: is served (7.1)': chunked(`A\r\n{"a":"bc"}\r\n0\r\n\r\n`),
    'an extension of a chunk: is ignored (7.1.1)': chunked('2;a=b\r\n{}\r\n0\r\n\r\n'),
    'a trailer: is read, and may be dropped (7.1.2)': chunked('2\r\n{}\r\n0\r\nX-T: 1\r\n\r\n'),
    'Upgrade: may be ignored (7.8 of RFC 9110)': get('Upgrade: websocket'),
  }),
  ...casesOf('400 400 200', {
    'bare LF after the start line: a line may be taken to end there, or is refused (2.2)': lines(
      `GET ${target} HTTP/1.1\nHost: x`,
      'KEY',
    ),
    'bare LF after a header: a line may be taken to end there, or is refused (2.2)': get('X: 1\nY: 2'),
    'HTTP/1.2: should be served as the highest version that is known; Node refuses it (2.5 of RFC 9110)':
      request(`GET ${target} HTTP/1.2`),
  }),
  ...casesOf('400', {
    'bare CR as the end of lines: is not the end of a line (2.2)': (key) =>
      `GET ${target} HTTP/1.1\rHost: x\r${key}\r\r`,
    'white space between start line and headers: is refused, or its line is dropped (2.2)': lines(
      `GET ${target} HTTP/1.1`,
      ' Host: x',
      'KEY',
    ),
    'lower-case http: the name of the protocol is case-sensitive (2.3)': request(`GET ${target} http/1.1`),
    'a space in the target: should be refused (3.2)': request(`GET ${target} x HTTP/1.1`),
    'a method in lower case: methods are case-sensitive (9.1 of RFC 9110)': request(`get ${target} HTTP/1.1`),
    'an unknown method: should get 501; Node knows a list of them, and says 400 (9.1 of RFC 9110)': request(
      `BREW ${target} HTTP/1.1`,
    ),
    'no Host: is refused with 400 (3.2)': lines(`GET ${target} HTTP/1.1`, 'KEY', 'Connection: close'),
    'a header without a name: is no header (5)': get(': x'),
    'white space before the colon: is refused with 400 (5.1)': get('X : y'),
    'a folded line: is refused with 400, or unfolded (5.2)': get('X: y', ' z'),
  }),
  ...casesOf('400 200 505', {
    'HTTP/2.0: another major version is refused (2.3)': request(`GET ${target} HTTP/2.0`),
  }),
  ...casesOf('400 400 505', {
    'HTTP/1.1 without a dot: is no version (2.3)': request(`GET ${target} HTTP/11`),
  }),
  ...casesOf('400 200 -', {
    'no version: HTTP/0.9 is not spoken (3)': lines(`GET ${target}`, 'Host: x', 'KEY'),
  }),
  ...casesOf('400 200 400', {
    'two equal Host: are refused with 400 (3.2)': get('Host: x'),
    'two different Host: are refused with 400 (3.2)': get('Host: y'),
    'Host with a path: is invalid, and refused with 400 (3.2)': host('x/y'),
    'asterisk form of GET: is for OPTIONS only: 400 or 404 (3.2.4)': request('GET * HTTP/1.1'),
  }),
  ...casesOf('400 200 200', {
    'Host with a user: is invalid, and refused with 400 (3.2)': host('user@x'),
    'a fragment in the target: is no part of a target: 400 or 404 (3.2.1)': request(
      `GET ${target}#x HTTP/1.1`,
    ),
  }),
  ...casesOf('200 200 400', { 'an empty Host: is valid if the target has no authority (3.2)': host('') }),
  ...casesOf('204 200 400', {
    'asterisk form of OPTIONS: is about the server (3.2.4)': request('OPTIONS * HTTP/1.1'),
  }),
  ...casesOf('200 400 200', {
    'HTTP/1.0 closes: the connection closes unless the request asks to keep it (9.3)': (key) =>
      lines(`GET ${target} HTTP/1.0`, 'Host: x', 'KEY')(key) + hidden,
    'close: nothing after it is served (9.6)': (key) => get()(key) + hidden,
  }),
  ...casesOf('200,200', {
    'a second request: is served on the same connection (9.3)': (key) =>
      lines(`GET ${target} HTTP/1.1`, 'Host: x', 'KEY')(key) + get()(key),
  }),
  ...casesOf('408', {
    'a body that is too short: is incomplete: 400 or 408 (6.3)': post(['Content-Length: 9'], '{}'),
  }),
  ...casesOf('400 400 501', {
    'an unknown coding: should get 501, or 400 (6.1)': post(['Transfer-Encoding: zip'], '{}'),
  }),
  ...casesOf('417 417 200', { 'an unknown Expect: may get 417 (10.1.1 of RFC 9110)': get('Expect: magic') }),
  ...casesOf('405 - 400', {
    'CONNECT: is refused by what is no proxy (9.3.6 of RFC 9110)': lines(
      'CONNECT x:1 HTTP/1.1',
      'Host: x:1',
      'KEY',
    ),
  }),
  ...casesOf('405 200 405', {
    'TRACE: is refused where headers hold secrets (9.3.8 of RFC 9110)': request(`TRACE ${target} HTTP/1.1`),
  }),
  ...casesOf('408', { 'no last chunk: is incomplete: 400 or 408 (8)': chunked('2\r\n{}\r\n') }),
];
