import type { ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { hashSecret } from '../../operations/console-secret.ts';
import { createConsoleSessions, type ConsoleSession } from '../../operations/console-sessions.ts';
import type { ApiDependencies } from '../api/api-dependencies.ts';
import { isRedisUnavailable } from './is-redis-unavailable.ts';

export interface SessionVerifier {
  /**
   * Finds the session of a token, in Redis at each request, so that one that was ended is over at once. During an outage
   * of Redis, a session that this process has seen stays valid for reading: an operator must see the console then.
   * @returns undefined if it has ended, has expired or never existed
   * @throws ApiError service_unavailable for a change during an outage, or a session that this process has not seen
   */
  verify(token: string, use: 'read' | 'change'): Promise<ConsoleSession | undefined>;
  /** Closes a response that is still open when its session ends, such as a stream of events. */
  watch(token: string, res: ServerResponse): void;
  close(): void;
}

interface SessionVerifierDependencies {
  read: ApiDependencies['read'];
  /** Unix milliseconds. */
  now: () => number;
}

const maxKnown = 1000;
/** Interval of last seen, in the list of sessions. */
const touchMs = 60_000;
/** Maximum delay with which a stream of an ended session closes. */
const watchMs = 5000;

export function createSessionVerifier({ read, now }: SessionVerifierDependencies): SessionVerifier {
  /** By the hash of the token: the memory of a process holds no secrets of others. */
  const known = new LRUCache<string, ConsoleSession>({ max: maxKnown });
  const touched = new LRUCache<string, true>({ max: maxKnown, ttl: touchMs });
  const openResponses = new Map<string, Set<ServerResponse>>();

  const isCurrent = ({ expiresAt }: ConsoleSession) => Date.parse(expiresAt) > now();

  async function verify(token: string, use: 'read' | 'change'): Promise<ConsoleSession | undefined> {
    const tokenHash = hashSecret(token);
    const session = await read((redis) => createConsoleSessions(redis).find(token)).catch(
      (error: unknown) => {
        const last = known.get(tokenHash);
        if (use === 'change' || last === undefined || !isRedisUnavailable(error)) throw error;
        return isCurrent(last) ? last : undefined;
      },
    );
    if (session === undefined) known.delete(tokenHash);
    else known.set(tokenHash, session);
    return session;
  }

  /** Nothing depends on it, and it must not delay a request. */
  function touch(token: string): void {
    const tokenHash = hashSecret(token);
    if (touched.has(tokenHash)) return;
    touched.set(tokenHash, true);
    void read((redis) => createConsoleSessions(redis).touch(token)).catch(() => touched.delete(tokenHash));
  }

  const watcher = setInterval(() => {
    for (const [token, responses] of openResponses) {
      void verify(token, 'read').then(
        (session) => {
          if (session === undefined) for (const res of responses) res.destroy();
        },
        () => {},
      );
    }
  }, watchMs);
  watcher.unref();

  return {
    async verify(token, use) {
      const session = await verify(token, use);
      if (session !== undefined) touch(token);
      return session;
    },
    watch(token, res) {
      const responses = openResponses.get(token) ?? new Set();
      openResponses.set(token, responses.add(res));
      res.once('close', () => {
        responses.delete(res);
        if (responses.size === 0 && openResponses.get(token) === responses) openResponses.delete(token);
      });
    },
    close: () => clearInterval(watcher),
  };
}
