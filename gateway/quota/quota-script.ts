import { Cluster } from 'ioredis';
import type { RedisClient } from '../redis/redis.ts';
import { type RedisGate, RedisUnavailable } from '../redis/redis-gate.ts';
import type { QuotaKeys } from '../redis/redis-keys.ts';

/** What consume.lua needs to know of one request beside its keys. */
export type QuotaArguments = [rev: number, minuteLimit: number, dayLimit: number, banPolicy: string];

export interface QuotaScript {
  /**
   * Runs consume.lua for one request.
   * @returns what it says of that request
   * @throws RedisUnavailable where Redis does not answer; ReplyError where the record was edited into the wrong type
   */
  run(keys: QuotaKeys, args: QuotaArguments): Promise<number[]>;
}

interface Waiting {
  keys: QuotaKeys;
  args: QuotaArguments;
  resolve: (answer: number[]) => void;
  reject: (error: Error) => void;
  /** Outages of Redis before it came. */
  outages: number;
}

/** So many requests hold up others on the same Redis for about a millisecond. */
const maxBatch = 100;
const wrongRecord = 4;

/**
 * Requests that come while others are being decided on are decided on together, by one command: what a command costs
 * this process is more than what it asks for. One that comes alone is asked for at once.
 */
export function createQuotaScript({
  redis,
  gate,
}: {
  redis: RedisClient;
  gate: Pick<RedisGate, 'open' | 'outages' | 'send'>;
}): QuotaScript {
  // In a cluster, the keys of one command share a slot, and so belong to one API key.
  const batchLimit = redis instanceof Cluster ? 1 : maxBatch;
  const waitsForAnswers = batchLimit > 1;
  const waiting: Waiting[] = [];
  let scheduled = false;
  let inFlight = 0;

  /** After all that has come in this turn of the event loop. */
  function schedule(): void {
    if (scheduled || (waitsForAnswers && inFlight > 0)) return;
    scheduled = true;
    setImmediate(sendWaiting);
  }

  function sendWaiting(): void {
    scheduled = false;
    const wanted: Waiting[] = [];
    for (const request of waiting.splice(0)) {
      // Decided on without Redis if it was away since, and not to be counted there as well once it is back.
      if (gate.open && gate.outages === request.outages) wanted.push(request);
      else request.reject(new RedisUnavailable('given up on for the moment'));
    }
    for (let sent = 0; sent < wanted.length; sent += batchLimit) {
      void send(wanted.slice(sent, sent + batchLimit));
    }
  }

  async function send(batch: readonly Waiting[]): Promise<void> {
    inFlight += 1;
    try {
      const answers = await redis.consumeQuota(
        batch.length * 5,
        ...batch.flatMap(({ keys }) => keys),
        ...batch.flatMap(({ args }) => args),
      );
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index] ?? [];
        if (answer[0] === wrongRecord) reject(replyError(String(answer[1])));
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error instanceof Error ? error : new Error(String(error)));
    } finally {
      inFlight -= 1;
      if (waiting.length > 0) schedule();
    }
  }

  return {
    run: (keys, args) =>
      gate.send(
        () =>
          new Promise((resolve, reject) => {
            waiting.push({ keys, args, resolve, reject, outages: gate.outages });
            schedule();
          }),
      ),
  };
}

/** As ioredis makes it of an answer that is an error as a whole. */
function replyError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}
