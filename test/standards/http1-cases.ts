/**
 * A case of HTTP/1.1, as Http11Probe has them: bytes, and the statuses of the responses of this gateway, of a server of Node's and
 * of nginx, in order and with commas between them; `-` is a connection that is closed without a response.
 */
export interface Http1Case {
  /** What it is, and asks for, with a section of RFC 9112, unless it says another one. */
  name: string;
  /** Latin1, one character per byte. @param authorization header line */
  bytes: (authorization: string) => string;
  gateway: string;
  node: string;
  nginx: string;
}

/** @param statuses of the three servers, or one status if all of them have the same */
export function casesOf(statuses: string, cases: Record<string, Http1Case['bytes']>): Http1Case[] {
  const [gateway = '', node = gateway, nginx = gateway] = statuses.split(' ');
  return Object.entries(cases).map(([name, bytes]) => ({ name, bytes, gateway, node, nginx }));
}

export const target = '/v1/pets';

/** A request with this start line, Host, key and further header lines, whose connection is closed afterwards. */
export const request =
  (start: string, lines: readonly string[] = [], body = ''): Http1Case['bytes'] =>
  (authorization) =>
    [start, 'Host: x', authorization, 'Connection: close', ...lines, '', body].join('\r\n');

export const get = (...lines: string[]) => request(`GET ${target} HTTP/1.1`, lines);

export const post = (lines: readonly string[], body = '') =>
  request(`POST ${target} HTTP/1.1`, ['Content-Type: application/json', ...lines], body);

export const chunked = (body: string) => post(['Transfer-Encoding: chunked'], body);

/** A request without a header that others add, line by line. */
export const lines =
  (...all: string[]): Http1Case['bytes'] =>
  (authorization) =>
    [...all.map((line) => line.replace('KEY', authorization)), '', ''].join('\r\n');

/** A valid request but for this Host. */
export const host = (value: string) =>
  lines(`GET ${target} HTTP/1.1`, `Host: ${value}`, 'KEY', 'Connection: close');

/** A request that stands where a body, or nothing, should be. */
export const hidden = `GET ${target}?hidden HTTP/1.1\r\nHost: x\r\n\r\n`;
