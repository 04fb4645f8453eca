import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Session } from '../../operations/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';

/** State of a read that takes seconds with many keys. */
export interface BackgroundState<T> {
  /** The last result, and when it was complete (Unix milliseconds by Redis' clock). */
  latest: { value: T; atMs: number } | undefined;
  /** Keys that the read under way has seen; undefined if none is under way. */
  progress: number | undefined;
  /** Its result so far, if it has one. */
  soFar: T | undefined;
}

export interface BackgroundRead<T> {
  /**
   * Starts a read if the last result is too old, and waits for it, but not longer than a page may wait.
   * @throws what the read has thrown, if there is no earlier result
   */
  state(): Promise<BackgroundState<T>>;
}

/** Called after each page of keys, with the number of those read so far, and the result of these. */
export type OnPage<T> = (read: number, soFar?: T) => Promise<void>;

/** Share of the time in which a read rests, so that requests and other commands have the rest of the processor. */
const rest = 0.5;
/** Time that a response waits for the result: with some thousand keys it is there by then, and the page asks only once. */
const maxWaitMs = 300;

interface BackgroundReadOptions<T> extends Pick<ApiDependencies, 'read'> {
  run: (session: Session, onPage: OnPage<T>) => Promise<T>;
  /** Age after which the result is read again when it is asked for. */
  maxAgeMs: number;
}

/** A read of all keys, once at a time in this process, however many people look at its result. */
export function createBackgroundRead<T>({
  read,
  run,
  maxAgeMs,
}: BackgroundReadOptions<T>): BackgroundRead<T> {
  let latest: BackgroundState<T>['latest'];
  /** By a clock that is never set. */
  let readAtMs = Number.NEGATIVE_INFINITY;
  let progress: number | undefined;
  let soFar: T | undefined;
  let running: Promise<void> | undefined;

  async function readOnce(): Promise<void> {
    progress = 0;
    let pageStart = performance.now();
    try {
      latest = await read(async (session) => {
        const value = await run(session, async (keys, result) => {
          progress = keys;
          soFar = result;
          await sleep(((performance.now() - pageStart) * rest) / (1 - rest));
          pageStart = performance.now();
        });
        return { value, atMs: session.now() };
      });
      readAtMs = performance.now();
    } finally {
      progress = undefined;
      soFar = undefined;
      running = undefined;
    }
  }

  return {
    async state() {
      if (performance.now() - readAtMs > maxAgeMs) {
        running ??= readOnce();
        // An error of a read that nobody waits for any more shows when the result is asked for again.
        running.catch(() => {});
        const timeout = new AbortController();
        await Promise.race([
          latest === undefined ? running : running.catch(() => {}),
          sleep(maxWaitMs, undefined, { signal: timeout.signal }).catch(() => {}),
        ]).finally(() => timeout.abort());
      }
      return { latest, progress, soFar };
    },
  };
}

/** Progress of a count in the background. */
export const countingSchema = z
  .object({ read: z.int(), total: z.int() })
  .nullable()
  .meta({ id: 'Counting', description: 'A count of customers that is under way; null without one' });

/** A count as the API shows it. */
export interface Counted<T> {
  /** Until the first read is complete, that of the customers read so far, or undefined. */
  value: T | undefined;
  /** When it was complete, ISO 8601 in UTC. */
  asOf: string | null;
  /** The read under way: ask again for its result. */
  counting: z.infer<typeof countingSchema>;
}

/** @param readTotal reads what the progress is a part of */
export async function describeCount<T>(
  read: ApiDependencies['read'],
  { latest, progress, soFar }: BackgroundState<T>,
  readTotal: (session: Session) => Promise<number>,
): Promise<Counted<T>> {
  return {
    value: latest?.value ?? soFar,
    asOf: latest === undefined ? null : new Date(latest.atMs).toISOString(),
    counting: progress === undefined ? null : { read: progress, total: await read(readTotal) },
  };
}
