import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { errorLinesOf } from '../support/checks/alarms.ts';
import { residentBytes } from '../support/checks/resident-memory.ts';
import { makeAttacks } from '../support/http/attacks.ts';
import { parseMessages } from '../support/http/strict-http.ts';
import { shortTimeouts, startBothServices } from '../support/kits/both-services.ts';
import type { Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { seededRandom } from '../support/seeded-random.ts';

/* The seed is new in each run; FUZZ_SEED repeats a run. */

const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 32);
const both = shared(() => startBothServices({ ...shortTimeouts, LOG_LEVEL: 'warn' }));

test('40,000 malformed requests to the gateway get an Error body, a success or a clean close', async () => {
  const credential = `Bearer ${both.key}`;
  const statuses = await fuzz({ service: both.gateway, credential, cases: 40_000, seed });
  console.info('responses by status', Object.fromEntries(statuses));
  for (const status of [200, 201, 204, 400, 401, 404, 405]) expect(statuses.get(status)).toBeGreaterThan(100);
  // The pets service behind the gateway has logged no error either.
  expect(errorLinesOf(both.petsService)).toEqual([]);
}, 240_000);

test('4,000 malformed requests to the pets service get an Error body, a refusal by Node, a success or a clean close', async () => {
  const credential = `Bearer ${both.token}`;
  // 100 concurrent creates keep a small database busy for longer than the default quietMs.
  const options = { credential, cases: 4000, seed, quietMs: 250, isBare: true };
  const statuses = await fuzz({ service: both.petsService, ...options });
  console.info('responses by status', Object.fromEntries(statuses));
  for (const status of [200, 201, 400, 401, 404]) expect(statuses.get(status)).toBeGreaterThan(10);
}, 120_000);

interface FuzzOptions {
  service: Service;
  /** Valid value of Authorization. */
  credential: string;
  cases: number;
  seed: number;
  /** Time without data after which the terminator is sent. */
  quietMs?: number;
  /** Whether Node itself refuses what is no HTTP, which it does without a body. */
  isBare?: boolean;
}

const concurrency = 100;
/** Ends any unfinished request. No parser accepts it as the start of another one. */
const terminator = '\r\n\r\n\0\r\n\r\n';
/** Time without data after the terminator until the client closes its side of the connection. */
const quietAfterTerminatorMs = 250;

/**
 * Sends malformed requests, each on its own connection. Each must get a success, a client error with an Error body or a
 * clean close. The first that does not is shortened and reported.
 */
async function fuzz({
  service,
  credential,
  cases,
  seed,
  quietMs = 25,
  isBare = false,
}: FuzzOptions): Promise<Map<number, number>> {
  const attacks = makeAttacks(credential).filter(({ bytes }) => bytes.length < 4000);
  const valid = attacks.filter(({ expected: [status = 0] }) => status < 400);
  // Mutations of valid requests get furthest.
  const corpus = attacks.concat(valid, valid, valid).map(({ bytes }) => bytes);
  const next = createMutations(seed, corpus);
  const statuses = new Map<number, number>();
  let sent = 0;
  let memoryBefore = 0;

  async function runWorker(): Promise<void> {
    while (sent < cases) {
      sent += 1;
      // V8 grows its heap for a while whatever is sent.
      if (sent === Math.ceil(cases / 2)) memoryBefore = residentBytes(service.pid);
      const input = next();
      const outcome = judge(await sendAndReceive(service.port, input, quietMs), isBare);
      if ('problem' in outcome) {
        const shortest = await minimise(service.port, input, { quietMs, isBare });
        throw new Error(`seed ${seed}: ${outcome.problem}\nrequest: ${JSON.stringify(shortest)}`);
      }
      for (const status of outcome.statuses) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }

  console.info(`fuzzing with seed ${seed}`);
  await Promise.all(Array.from({ length: concurrency }, runWorker));
  expectHealthy(service, memoryBefore);
  return statuses;
}

const maxGrowthBytes = 150 * 1024 * 1024;

function expectHealthy(service: Service, memoryBefore: number): void {
  expect(() => process.kill(service.pid, 0), service.output().slice(-2000)).not.toThrow();
  expect(errorLinesOf(service)).toEqual([]);
  expect(residentBytes(service.pid) - memoryBefore).toBeLessThan(maxGrowthBytes);
}

interface Received {
  received: string;
  /** The server did not end the connection cleanly. */
  cutShort: boolean;
}

function sendAndReceive(port: number, input: string, quietMs: number): Promise<Received> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    let cutShort = false;
    let quiet = setTimeout(() => {
      if (socket.writable) socket.write(terminator);
      quiet = setTimeout(() => {
        cutShort = true;
        socket.end();
      }, quietAfterTerminatorMs);
    }, quietMs);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      quiet.refresh();
    });
    // A reset: the server closed the connection before it received all bytes.
    socket.on('error', () => {
      cutShort = true;
    });
    socket.on('close', () => {
      clearTimeout(quiet);
      resolve({ received, cutShort });
    });
    socket.write(Buffer.from(input, 'latin1'));
  });
}

function judge(
  { received, cutShort }: Received,
  isBare: boolean,
): { statuses: number[] } | { problem: string } {
  const { messages, rest, broken } = parseMessages(received, 'responses');
  const shown = JSON.stringify(received.slice(-2000));
  if (broken !== undefined) return { problem: `malformed response, ${broken}: ${shown}` };
  if (rest !== '' && !cutShort) return { problem: `incomplete response: ${shown}` };
  const statuses = messages.map(({ start }) => Number(start.split(' ')[1]));
  for (const [index, { body }] of messages.entries()) {
    const status = statuses[index] ?? 0;
    if (status >= 500) return { problem: `server error: ${shown}` };
    if (status >= 400 && !isErrorBody(body, status) && !(isBare && body === ''))
      return { problem: `client error without an Error body: ${shown}` };
  }
  return { statuses };
}

function isErrorBody(text: string, status: number): boolean {
  if (!/^\{.*\}$/.test(text)) return false;
  const body = JSON.parse(text) as { code?: unknown; message?: unknown; status?: unknown };
  return (
    Object.keys(body).toSorted().join(' ') === 'code message status' &&
    typeof body.code === 'string' &&
    typeof body.message === 'string' &&
    body.status === status
  );
}

/** Shortens a failing request by removing ever smaller parts. */
async function minimise(
  port: number,
  input: string,
  { quietMs, isBare }: { quietMs: number; isBare: boolean },
): Promise<string> {
  let shortest = input;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < shortest.length; at += size) {
      const shorter = shortest.slice(0, at) + shortest.slice(at + size);
      if ('problem' in judge(await sendAndReceive(port, shorter, quietMs), isBare)) shortest = shorter;
    }
  }
  return shortest;
}

/** Tokens that often break parsers of HTTP and JSON. */
const tokens = (
  '\r\n~\n~\r~\r\n\r\n~\0~\t~ ~\x0b~\x7f~\xff~:~,~;~"~\\~%~%00~%2e%2e%2f~#~?~&~/~//~/../~*~0~-1~+1~' +
  '0x10~1e400~99999999999999999999~Content-Length: 5\r\n~Content-Length: 0\r\n~' +
  'Transfer-Encoding: chunked\r\n~Transfer-Encoding: identity\r\n~Connection: close\r\n~' +
  'Connection: keep-alive\r\n~Connection: Upgrade\r\nUpgrade: x\r\n~Expect: 100-continue\r\n~' +
  'Host: y\r\n~Authorization: Bearer x\r\n~HTTP/1.0~HTTP/1.1~HTTP/2.0~GET /v1/pets HTTP/1.1\r\n~' +
  'POST /v1/pets HTTP/1.1\r\n~OPTIONS * HTTP/1.1\r\n~CONNECT x:1 HTTP/1.1\r\n~0\r\n\r\n~' +
  '5\r\nabcde\r\n~[~{~]~}~"__proto__":~\\ud800~null~limit=~cursor=~status='
).split('~');

/**
 * Mutates requests: cuts, repeats, splices and changes parts of them at random.
 * @param corpus latin1, one character per byte
 * @returns a function that returns the next mutation; the seed determines the sequence
 */
function createMutations(seed: number, corpus: readonly string[]): () => string {
  const random = seededRandom(seed);
  const randomBelow = (limit: number) => Math.floor(random() * limit);
  const pick = (list: readonly string[]) => list[randomBelow(list.length)] ?? '';
  const randomByte = () => String.fromCharCode(randomBelow(256));

  const mutations: ((text: string, at: number, length: number) => string)[] = [
    (text, at) => text.slice(0, at) + randomByte() + text.slice(at + 1),
    (text, at) => text.slice(0, at) + flipBit(text, at) + text.slice(at + 1),
    (text, at) => text.slice(0, at) + randomByte() + text.slice(at),
    (text, at, length) => text.slice(0, at) + text.slice(at + length),
    (text, at, length) => text.slice(0, at + length) + text.slice(at),
    (text, at) => text.slice(0, at) + pick(tokens) + text.slice(at),
    (text, at, length) => text.slice(0, at) + pick(tokens) + text.slice(at + length),
    (text, at) => text.slice(0, at) + spliced(pick(corpus)),
    (text, at, length) =>
      text.slice(0, at) + text.slice(at, at + length).toUpperCase() + text.slice(at + length),
    (text, at) => text.slice(0, at),
    (text, at, length) =>
      text.slice(0, at) + text.slice(at, at + length).repeat(randomBelow(20)) + text.slice(at + length),
    (text) => text + pick(corpus),
  ];

  const flipBit = (text: string, at: number) =>
    String.fromCharCode(((text.codePointAt(at) ?? 0) ^ (1 << randomBelow(8))) & 0xff);
  const spliced = (text: string) => text.slice(randomBelow(text.length));

  return function nextMutation() {
    let text = pick(corpus);
    for (let left = 1 + randomBelow(4); left > 0; left -= 1) {
      const mutate = mutations[randomBelow(mutations.length)];
      text = mutate?.(text, randomBelow(text.length + 1), 1 + randomBelow(random() < 0.5 ? 4 : 60)) ?? text;
    }
    return text;
  };
}
