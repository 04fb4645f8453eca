import { Cluster } from 'ioredis';
import type { RedisClient } from '../redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../redis/redis-gate.ts';
import type { QuotaKeys } from '../redis/redis-keys.ts';

/** What consume.lua needs to know of one request beside its keys, numbers as text. */
export type QuotaArguments = [rev: string, minuteLimit: string, dayLimit: string, banPolicy: string];

export interface QuotaScript {
  /**
   * Runs consume.lua for one request.
   * @param read makes something of what it says of that request
   * @throws RedisUnavailable where Redis does not answer; ReplyError where the record was edited into the wrong type
   */
  run<Answer>(
    keys: QuotaKeys,
    args: QuotaArguments,
    read: (answer: readonly number[]) => Answer,
  ): Promise<Answer>;
}

interface Waiting {
  keys: QuotaKeys;
  args: QuotaArguments;
  answered: (answer: readonly number[]) => void;
  failed: (error: Error) => void;
  /** Outages of Redis before it came. */
  outages: number;
}

/** So many requests hold up others on the same Redis for about a millisecond. */
const maxBatch = 100;
/** Of commands that no answer has come to. More would hardly shorten the wait; fewer leave this process idle meanwhile. */
const maxInFlight = 4;
const wrongRecord = 4;

/**
 * Requests that come together are decided on together, by one command: what a command costs this process is more than
 * what it asks for. The more Redis is asked, the more of them come together, since only so many commands are under way.
 */
export function createQuotaScript({
  redis,
  gate,
}: {
  redis: RedisClient;
  gate: Pick<RedisGate, 'open' | 'outages' | 'send'>;
}): QuotaScript {
  // In a cluster, the keys of one command share a slot, and so belong to one API key.
  const [batchLimit, inFlightLimit] = redis instanceof Cluster ? [1, Infinity] : [maxBatch, maxInFlight];
  const waiting: Waiting[] = [];
  let scheduled = false;
  let inFlight = 0;

  /** After all that has come in this turn of the event loop. */
  function schedule(): void {
    if (scheduled || inFlight >= inFlightLimit) return;
    scheduled = true;
    setImmediate(sendWaiting);
  }

  function sendWaiting(): void {
    scheduled = false;
    const wanted: Waiting[] = [];
    for (const request of waiting.splice(0)) {
      // Decided on without Redis if it was away since, and not to be counted there as well once it is back.
      if (gate.open && gate.outages === request.outages) wanted.push(request);
      else request.failed(givenUp());
    }
    for (let sent = 0; sent < wanted.length; sent += batchLimit) {
      void send(wanted.slice(sent, sent + batchLimit));
    }
  }

  async function send(batch: readonly Waiting[]): Promise<void> {
    inFlight += 1;
    try {
      const keysAndArgs: string[] = [];
      for (const { keys } of batch) keysAndArgs.push(...keys);
      for (const { args } of batch) keysAndArgs.push(...args);
      const answers = await gate.send(() => redis.consumeQuota(batch.length * 5, ...keysAndArgs));
      for (const [index, { answered, failed }] of batch.entries()) {
        const answer = answers[index] ?? [];
        if (answer[0] === wrongRecord) failed(replyError(String(answer[1])));
        else answered(answer);
      }
    } catch (error) {
      for (const { failed } of batch) failed(error instanceof Error ? error : new Error(String(error)));
    } finally {
      inFlight -= 1;
      if (waiting.length > 0) schedule();
    }
  }

  return {
    run: (keys, args, read) =>
      new Promise((resolve, reject) => {
        if (!gate.open) return reject(givenUp());
        function answered(answer: readonly number[]): void {
          try {
            resolve(read(answer));
          } catch (error) {
            reject(error);
          }
        }
        waiting.push({ keys, args, answered, failed: reject, outages: gate.outages });
        schedule();
      }),
  };
}

function givenUp(): RedisUnavailable {
  return new RedisUnavailable('given up on for the moment');
}

/** As ioredis makes it of an answer that is an error as a whole. */
function replyError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}
