import type { Span } from '@opentelemetry/api';
import { Cluster } from 'ioredis';
import type { RequestSpans } from '../observability/request-spans.ts';
import { scriptOutcome } from '../redis/define-scripts.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { replyError } from '../redis/redis-errors.ts';
import { RedisUnavailable, type RedisGate } from '../redis/redis-gate.ts';
import type { QuotaKeys } from '../redis/redis-keys.ts';

export interface QuotaBatch {
  /**
   * Runs consume.lua for one request.
   * @param args those of one request, as text
   * @param parse converts the reply for that request
   * @param units what the request costs
   * @throws RedisUnavailable if Redis does not reply; ReplyError if the record was edited into the wrong type
   */
  run<Result>(
    keys: QuotaKeys,
    args: readonly string[],
    parse: (reply: readonly number[]) => Result,
    units?: number,
  ): Promise<Result>;
}

interface WaitingRequest {
  keys: QuotaKeys;
  args: readonly string[];
  units: number;
  resolve: (reply: readonly number[]) => void;
  reject: (error: Error) => void;
  span: Span | undefined;
  /** Number of outages of Redis when the request arrived. */
  outages: number;
}

/** A command for this many requests delays others on the same Redis by about a millisecond. */
const maxBatch = 100;
/** Commands without a reply. More hardly shorten the wait; fewer leave this process idle. */
const maxInFlight = 4;

/**
 * Decides on requests that arrive together by one command: a command costs this process more than its contents do. The
 * number of commands in flight is limited, so batches grow with the load.
 */
export function createQuotaBatch({
  redis,
  gate,
  policies,
  spans,
  onLateReply,
}: {
  redis: RedisClient;
  gate: Pick<RedisGate, 'open' | 'outages' | 'send'>;
  /** Both policies as formatPolicies returns them. */
  policies: () => string;
  spans?: RequestSpans | undefined;
  /** Called with the reply for a request whose caller has been told before that Redis is unavailable. */
  onLateReply?: (keys: QuotaKeys, reply: readonly number[], units: number) => void;
}): QuotaBatch {
  // In a cluster, all keys of a command are in one slot, and so belong to one API key.
  const [batchLimit, inFlightLimit] = redis instanceof Cluster ? [1, Infinity] : [maxBatch, maxInFlight];
  const waiting: WaitingRequest[] = [];
  let scheduled = false;
  let inFlight = 0;

  /** Sends after all requests of this turn of the event loop have arrived. */
  function schedule(): void {
    if (scheduled || inFlight >= inFlightLimit) return;
    scheduled = true;
    setImmediate(sendWaiting);
  }

  function sendWaiting(): void {
    scheduled = false;
    const requests: WaitingRequest[] = [];
    for (const request of waiting.splice(0)) {
      // After an outage the request is decided locally, and must not be counted in Redis as well.
      if (gate.open && gate.outages === request.outages) requests.push(request);
      else request.reject(gateShut());
    }
    for (let sent = 0; sent < requests.length; sent += batchLimit) {
      void send(requests.slice(sent, sent + batchLimit));
    }
  }

  async function send(batch: readonly WaitingRequest[]): Promise<void> {
    inFlight += 1;
    const endSpan = spans?.startQuotaCommand(batch.flatMap(({ span }) => span ?? []));
    try {
      const keysAndArgs: string[] = [];
      for (const { keys } of batch) keysAndArgs.push(...keys);
      const numberOfKeys = keysAndArgs.length;
      keysAndArgs.push(policies());
      for (const { args } of batch) keysAndArgs.push(...args);
      const replies = await gate.send(
        () => redis.consumeQuota(numberOfKeys, ...keysAndArgs),
        (late) => {
          // Nobody catches an error here, and a malformed reply can shift the replies of a connection by one.
          if (!Array.isArray(late)) return;
          for (const [index, { keys, units }] of batch.entries())
            onLateReply?.(keys, late[index] ?? [], units);
        },
      );
      endSpan?.();
      for (const [index, { resolve, reject }] of batch.entries()) {
        const reply = replies[index] ?? [];
        if (reply[0] === scriptOutcome.invalidRecord) reject(replyError(String(reply[1])));
        else resolve(reply);
      }
    } catch (error) {
      endSpan?.(error);
      for (const { reject } of batch) reject(error instanceof Error ? error : new Error(String(error)));
    } finally {
      inFlight -= 1;
      if (waiting.length > 0) schedule();
    }
  }

  return {
    run: (keys, args, parse, units = 1) =>
      new Promise((resolve, reject) => {
        if (!gate.open) return reject(gateShut());
        waiting.push({
          keys,
          args,
          units,
          resolve(reply) {
            try {
              resolve(parse(reply));
            } catch (error) {
              reject(error);
            }
          },
          reject,
          span: spans?.active(),
          outages: gate.outages,
        });
        schedule();
      }),
  };
}

function gateShut(): RedisUnavailable {
  return new RedisUnavailable('not used at the moment');
}
