import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { respondWithPets } from './upstream.ts';

/** Behaviour of a broken upstream. */
export interface BrokenResponse {
  name: string;
  /** Status that the client gets: 200 if the response is complete despite the defect; cut if it sees the response break. */
  status: 200 | 502 | 504 | 'cut';
  response: (req: IncomingMessage, res: ServerResponse) => void;
}

const json = 'Content-Type: application/json\r\n';
const ok = `HTTP/1.1 200 OK\r\n${json}`;
const complete = `${ok}Content-Length: 2\r\n\r\n[]`;

/** Sends raw bytes and leaves the connection open. */
const bytes = (name: string, status: BrokenResponse['status'], text: string): BrokenResponse => ({
  name,
  status,
  response: ({ socket }) => void socket.write(text, 'latin1'),
});

/** Sends raw bytes and closes the connection. */
const lastBytes = (name: string, status: BrokenResponse['status'], text: string): BrokenResponse => ({
  name,
  status,
  response: ({ socket }) => void socket.end(text, 'latin1'),
});

/** Sends a beginning, and then repeats a few bytes without end. */
const drip = (name: string, beginning: string, drop: string): BrokenResponse => ({
  name,
  status: 504,
  response: ({ socket }) => {
    socket.write(beginning);
    dripInto(socket, drop);
  },
});

function dripInto(socket: Socket, drop: string): void {
  const timer = setInterval(() => socket.write(drop), 50);
  socket.once('close', () => clearInterval(timer));
}

/** Sends raw bytes, and resets the connection when they have arrived. */
const bytesThenReset = (name: string, status: BrokenResponse['status'], text: string): BrokenResponse => ({
  name,
  status,
  response: ({ socket }) => void socket.write(text, () => setTimeout(() => socket.resetAndDestroy(), 50)),
});

export const brokenResponses: BrokenResponse[] = [
  {
    name: 'no response and a closed connection',
    status: 502,
    response: ({ socket }) => void socket.destroy(),
  },
  {
    name: 'no response and a reset connection',
    status: 502,
    response: ({ socket }) => void socket.resetAndDestroy(),
  },
  { name: 'no response', status: 504, response: () => {} },
  lastBytes('half of the headers', 502, 'HTTP/1.1 200 OK\r\nContent-Ty'),
  lastBytes('half a body', 502, `${ok}Content-Length: 100\r\n\r\n[1, 2`),
  lastBytes('half a body in chunks', 'cut', `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\n[1, 2\r\n`),
  lastBytes('a chunk cut short', 'cut', `${ok}Transfer-Encoding: chunked\r\n\r\nff\r\n[1, 2`),
  lastBytes('a body without a length that ends with its connection', 200, `${ok}\r\n[]`),
  bytesThenReset('a body without a length on a connection that is reset', 'cut', `${ok}\r\n[]`),
  bytesThenReset(
    'a body of HTTP/1.0 on a connection that is reset',
    'cut',
    `${ok.replace('1.1', '1.0')}\r\n[]`,
  ),
  // More than the gateway buffers.
  lastBytes('half a large body', 'cut', `${ok}Content-Length: 2000000\r\n\r\n${'a'.repeat(1_000_000)}`),
  bytes('half a body on an open connection', 504, `${ok}Content-Length: 100\r\n\r\n[1, 2`),
  bytes('garbage', 502, 'what is this?\r\n\r\n'),
  bytes('binary garbage', 502, `${'\x16\x03\x01\x00\xff'.repeat(50)}\r\n\r\n`),
  bytes('a body without headers', 502, '[{"id":1}]\r\n\r\n'),
  bytes('an unknown version of HTTP', 502, complete.replace('1.1', '4.2')),
  bytes('status 99', 502, complete.replace('200', '099')),
  bytes('status 999', 502, complete.replace('200', '999')),
  bytes('a status in letters', 502, complete.replace('200', 'abc')),
  bytes('one huge header', 502, `${ok}X-Huge: ${'a'.repeat(100_000)}\r\n\r\n`),
  bytes('very many headers', 502, `${ok}${'X-Many: abcdefgh\r\n'.repeat(5000)}\r\n`),
  bytes('a control character in a header', 502, `${ok}X-Bad: a\x01b\r\nContent-Length: 2\r\n\r\n[]`),
  bytes('a header without a colon', 502, `${ok}oops\r\nContent-Length: 2\r\n\r\n[]`),
  bytes('an invalid length', 502, `${ok}Content-Length: two\r\n\r\n[]`),
  bytes('two lengths', 502, `${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\n[] `),
  bytes('a length and chunks', 502, `${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
  bytes(
    'a chunk with an invalid size',
    'cut',
    `${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n`,
  ),
  bytes('a transfer coding', 502, `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n`),
  bytes('a body longer than its Content-Length', 200, `${complete}, and more`),
  bytes('an unsolicited second response', 200, `${complete}${complete.replace('[]', '{}')}`),
  // Written by Node, because the connection is reused.
  {
    name: 'a page of HTML',
    status: 200,
    response: (_req, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('[]'),
  },
  { name: 'no Content-Type', status: 200, response: (_req, res) => void res.writeHead(200).end('[]') },
  bytes('two Content-Types', 502, complete.replace(json, `${json}Content-Type: text/html\r\n`)),
  bytes('407', 502, complete.replace('200 OK', '407 Proxy Authentication Required')),
  bytes(
    'a switch to another protocol',
    502,
    'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
  ),
  {
    name: 'an unsolicited 100 Continue',
    status: 200,
    response: (req, res) => {
      res.writeContinue();
      respondWithPets(req, res);
    },
  },
  {
    name: '100 Continue among other interim responses',
    status: 200,
    response: (req, res) => {
      res.writeProcessing();
      res.writeContinue();
      res.writeContinue();
      setTimeout(() => respondWithPets(req, res), 10);
    },
  },
  {
    name: '103 Early Hints first',
    status: 200,
    response: (req, res) =>
      res.writeEarlyHints({ link: '</x>; rel=preload' }, () => respondWithPets(req, res)),
  },
  {
    name: 'many interim responses first',
    status: 200,
    response: (req, res) => {
      for (let count = 0; count < 50; count += 1) res.writeProcessing();
      respondWithPets(req, res);
    },
  },
  drip('interim responses without end', '', 'HTTP/1.1 102 Processing\r\n\r\n'),
  drip('headers without end', ok, 'X-A: b\r\n'),
  drip('one header without end', `${ok}X-A: `, 'b'),
  drip('a body without end', `${ok}Content-Length: 100000\r\n\r\n`, 'a'),
];
