/**
 * A case of HTTP/1.1, as Http11Probe has them: bytes, and the statuses of the responses of this gateway, of a server of Node's and
 * of nginx, in order and with commas between them; `-` is a connection that is closed without a response.
 */
export interface Http1Case {
  id: string;
  /** Of RFC 9112, unless it says another one. */
  clause: string;
  asks: string;
  /** Latin1, one character per byte. @param authorization header line */
  bytes: (authorization: string) => string;
  gateway: string;
  node: string;
  nginx: string;
}

type Row = [id: string, clause: string, asks: string, bytes: Http1Case['bytes'], statuses: string];

/** @param rows with the three statuses in one text, or one status if all three servers have the same */
export function http1Cases(rows: readonly Row[]): Http1Case[] {
  return rows.map(([id, clause, asks, bytes, statuses]) => {
    const [gateway = '', node = gateway, nginx = gateway] = statuses.split(' ');
    return { id, clause, asks, bytes, gateway, node, nginx };
  });
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

/** A request that stands where a body, or nothing, should be. */
export const hidden = `GET ${target}?hidden HTTP/1.1\r\nHost: x\r\n\r\n`;
