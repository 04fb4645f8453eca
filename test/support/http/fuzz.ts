import { connect } from 'node:net';
import { expect } from 'vitest';
import { alarmsOf } from '../checks/alarms.ts';
import { residentBytes } from '../checks/resident-memory.ts';
import type { Service } from '../kits/service.ts';
import { makeAttacks } from './attacks.ts';
import { createMutations } from './mutations.ts';
import { parseMessages } from './strict-http.ts';

interface FuzzOptions {
  service: Service;
  /** What the service accepts as Authorization. */
  credential: string;
  cases: number;
  seed: number;
  /** After this long without an answer, what ends the request is sent, which ends what waits for an answer, too. */
  quietMs?: number;
}

const inParallel = 100;
/** Ends whatever is unfinished: no parser takes it for the beginning of a request. */
const terminator = '\r\n\r\n\0\r\n\r\n';
/** After this long without an answer to the terminator, our side of the connection is closed. */
const moreQuietMs = 250;

/**
 * Sends malformed requests, each on a connection of its own, and fails with the first to which the answer is no
 * success, no client error with an Error body and no clean close, cut down to what it takes.
 */
export async function fuzz({
  service,
  credential,
  cases,
  seed,
  quietMs = 25,
}: FuzzOptions): Promise<Map<number, number>> {
  const attacks = makeAttacks(credential).filter(({ bytes }) => bytes.length < 4000);
  const good = attacks.filter(({ expected: [status = 0] }) => status < 400);
  // What is nearly good gets furthest.
  const corpus = attacks.concat(good, good, good).map(({ bytes }) => bytes);
  const next = createMutations(seed, corpus);
  const statuses = new Map<number, number>();
  let sent = 0;
  let memoryBefore = 0;

  async function work(): Promise<void> {
    while (sent < cases) {
      sent += 1;
      if (sent === Math.ceil(cases / 4)) memoryBefore = residentBytes(service.pid);
      const input = next();
      const outcome = judge(await exchange(service.port, input, quietMs));
      if ('fault' in outcome) {
        const shortest = await minimise(service.port, input, quietMs);
        throw new Error(`seed ${seed}: ${outcome.fault}\nto ${JSON.stringify(shortest)}`);
      }
      for (const status of outcome.statuses) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }

  console.info(`fuzzing with seed ${seed}`);
  await Promise.all(Array.from({ length: inParallel }, work));
  expectUnharmed(service, memoryBefore);
  return statuses;
}

const maxGrowthBytes = 150 * 1024 * 1024;

function expectUnharmed(service: Service, memoryBefore: number): void {
  expect(() => process.kill(service.pid, 0), service.output().slice(-2000)).not.toThrow();
  expect(alarmsOf(service)).toEqual([]);
  expect(residentBytes(service.pid) - memoryBefore).toBeLessThan(maxGrowthBytes);
}

interface Exchange {
  received: string;
  /** The server was not the one to end it. */
  cutShort: boolean;
}

function exchange(port: number, input: string, quietMs: number): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    let cutShort = false;
    let quiet = setTimeout(() => {
      if (socket.writable) socket.write(terminator);
      quiet = setTimeout(() => {
        cutShort = true;
        socket.end();
      }, moreQuietMs);
    }, quietMs);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      quiet.refresh();
    });
    // A reset: bytes of ours were still on their way when the server had closed.
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

function judge({ received, cutShort }: Exchange): { statuses: number[] } | { fault: string } {
  const { messages, rest, broken } = parseMessages(received, 'responses');
  const shown = JSON.stringify(received.slice(-2000));
  if (broken !== undefined) return { fault: `a broken answer, ${broken}: ${shown}` };
  if (rest !== '' && !cutShort) return { fault: `half an answer: ${shown}` };
  const statuses = messages.map(({ start }) => Number(start.split(' ')[1]));
  for (const [index, { body }] of messages.entries()) {
    const status = statuses[index] ?? 0;
    if (status >= 500) return { fault: `a server error: ${shown}` };
    if (status >= 400 && !isErrorBody(body, status)) return { fault: `no Error body: ${shown}` };
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

/** The shortest that still fails, found by leaving out ever smaller parts. */
async function minimise(port: number, input: string, quietMs: number): Promise<string> {
  let shortest = input;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < shortest.length; at += size) {
      const shorter = shortest.slice(0, at) + shortest.slice(at + size);
      if ('fault' in judge(await exchange(port, shorter, quietMs))) shortest = shorter;
    }
  }
  return shortest;
}
