import { connect } from 'node:net';
import { expect } from 'vitest';
import { errorLinesOf } from '../checks/alarms.ts';
import { residentBytes } from '../checks/resident-memory.ts';
import type { Service } from '../kits/service.ts';
import { makeAttacks } from './attacks.ts';
import { createMutations } from './mutations.ts';
import { parseMessages } from './strict-http.ts';

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
export async function fuzz({
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
