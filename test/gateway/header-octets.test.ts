import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

/** Sends a request, and returns all bytes of the response as Latin-1. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(text, 'latin1');
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

const octets = (text: string) => Buffer.from(text).toString('latin1');

/** Octets of a header's value above 0x7F mean nothing to the gateway (RFC 9110 section 5.5). */
describe('octets of headers', () => {
  let key: string;

  const kit = shared(startGatewayKit);
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business', minute: 100_000 }));
  });

  const head = (method: string, lines = '') =>
    `${method} /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n` +
    `Accept-Encoding: gzip\r\n${lines}\r\n`;

  const responses: [name: string, request: string, start: string, lengthLine: string, body: string][] = [
    ['a small 200', 'GET', '200 OK', 'Content-Length: 2\r\n', '[]'],
    ['a 200 of 8 KiB', 'GET', '200 OK', 'Content-Length: 8192\r\n', 'a'.repeat(8192)],
    ['a 200 that is streamed', 'GET', '200 OK', 'Content-Length: 200000\r\n', 'a'.repeat(200_000)],
    ['a 200 in chunks', 'GET', '200 OK', 'Transfer-Encoding: chunked\r\n', '2\r\n[]\r\n0\r\n\r\n'],
    ['a HEAD', 'HEAD', '200 OK', 'Content-Length: 8192\r\n', ''],
    ['a 304', 'GET', '304 Not Modified', 'Content-Length: 8192\r\n', ''],
    ['a 201', 'POST', '201 Created', 'Content-Length: 2\r\n', '{}'],
    ['a 404', 'GET', '404 Not Found', 'Content-Length: 2\r\n', '{}'],
  ];
  const names = [octets('attachment; filename="日.csv"'), 'attachment; filename="\xe9.csv"'];

  test.each(responses)(
    'of %s pass, before and after its length',
    async (_name, method, start, length, body) => {
      const request = head(
        method,
        `${method === 'POST' ? 'Content-Length: 0\r\n' : ''}If-None-Match: "1"\r\n`,
      );
      for (const value of names) {
        const line = `Content-Disposition: ${value}\r\n`;
        for (const lines of [line + length, length + line]) {
          kit.upstream.response = ({ socket }) =>
            void socket.end(`HTTP/1.1 ${start}\r\nContent-Type: text/csv\r\n${lines}\r\n${body}`, 'latin1');
          const received = await exchange(kit.gateway.port, request);
          expect(received.split('\r\n', 1)).toEqual([`HTTP/1.1 ${start}`]);
          const [, passed] = /\r\ncontent-disposition: (.*)\r\n/i.exec(received) ?? [];
          expect(passed).toBe(value);
        }
      }
      kit.upstream.response = respondWithPets;
      expect((await send(`${kit.gateway.url}/v1/pets`, { key })).status).toBe(200);
      expect(kit.gateway.output()).not.toMatch(/"level":[56]0/);
    },
  );

  test('of a request pass', async () => {
    kit.upstream.response = respondWithPets;
    for (const value of names) {
      await exchange(kit.gateway.port, head('GET', `Prefer: ${value}\r\n`));
      expect(kit.upstream.seen.at(-1)?.headers['prefer']).toBe(value);
    }
  });
});
