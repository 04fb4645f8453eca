import { z } from 'zod';
import { redisKeys, type CustomerId } from '../platform/redis/redis-keys.ts';
import { createWaitingCounts, type RedisAndClock } from './use-counts.ts';

/** A request of a customer that got an error. */
export const failureSchema = z
  .object({
    at: z.iso.datetime(),
    requestId: z.string().describe('X-Request-Id of the response'),
    code: z
      .string()
      .nullable()
      .describe('Code of the error; null if the response of a service names none that it describes'),
    status: z.int(),
    method: z.string(),
    route: z.string().describe('Path with its parameters in braces; `unmatched` for an unknown one'),
    keyId: z.string(),
  })
  .meta({ id: 'Failure' });

export type Failure = z.infer<typeof failureSchema>;

export type FailureReports = ReturnType<typeof createFailureReports>;

/** Failures of one code that are kept. There are some forty codes and statuses. */
const maxOfCode = 5;
const keptMs = 7 * 86_400_000;
/** Failures of further customers are not kept until the next report, so that memory stays bounded. */
const maxCustomers = 10_000;
/** Customers of one report: Redis has other things to do. The others wait for the next one. */
const maxReported = 1000;

interface Kept {
  customerId: CustomerId;
  /** The latest of each code, the newest last. */
  byCode: Map<string, { atMs: number; failure: Omit<Failure, 'at'> }[]>;
}

/** Keeps the last failed requests of each customer, without a Redis command for each of them. */
export function createFailureReports({ redis, now }: RedisAndClock) {
  const send = ({ customerId, byCode }: Kept) =>
    redis.addFailures(
      redisKeys.failures(customerId),
      maxOfCode,
      keptMs,
      ...Array.from(byCode, ([code, failures]) => [code, failures.map(formatLine).join('')]).flat(),
    );

  const customers = createWaitingCounts<Kept>({ redis, max: maxCustomers, maxReported, send });

  return {
    /** Keeps one failed request until the next report. @param failure but for its time, which is now */
    add(customerId: CustomerId, failure: Omit<Failure, 'at'>): void {
      const kept = customers.get(customerId, () => ({ customerId, byCode: new Map() }));
      if (kept === undefined) return;
      const code = failure.code ?? String(failure.status);
      let latest = kept.byCode.get(code);
      if (latest === undefined) kept.byCode.set(code, (latest = []));
      else if (latest.length >= maxOfCode) latest.shift();
      latest.push({ atMs: Math.floor(now()), failure });
    },
    /** Adds them to those in Redis. Never rejects: what it does not confirm is lost. */
    report: customers.report,
  };
}

function formatLine({ atMs, failure }: { atMs: number; failure: Omit<Failure, 'at'> }): string {
  const { requestId, status, method, keyId, route } = failure;
  return `${atMs} ${requestId} ${status} ${method} ${keyId} ${route}\n`;
}

const line = /^([1-9]\d{0,14}) (\S+) ([45]\d\d) (\S+) (\S+) (.+)$/;

/** Reads the last failed requests of a customer, newest first, at most 5 of each code. */
export async function readFailures({ redis, now }: RedisAndClock, id: CustomerId): Promise<Failure[]> {
  const oldestMs = now() - keptMs;
  const fields = await redis.hgetall(redisKeys.failures(id));
  return Object.entries(fields)
    .flatMap(([code, text]) => text.split('\n').flatMap((stored) => parseLine(code, stored, oldestMs)))
    .toSorted((one, other) => other.at.localeCompare(one.at));
}

function parseLine(code: string, stored: string, oldestMs: number): Failure[] {
  const [, atMs, requestId = '', status, method = '', keyId = '', route = ''] = line.exec(stored) ?? [];
  if (atMs === undefined || Number(atMs) < oldestMs) return [];
  const at = new Date(Number(atMs)).toISOString();
  const isStatus = /^\d+$/.test(code);
  return [{ at, requestId, code: isStatus ? null : code, status: Number(status), method, route, keyId }];
}
