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
  /** To be called when a person has signed out. */
  forget(token: string): void;
  close(): void;
}

interface SessionVerifierDependencies {
  read: ApiDependencies['read'];
  /** Unix milliseconds. */
  now: () => number;
  /** Maximum delay with which a stream of an ended session closes. */
  watchMs?: number;
}

const maxKnown = 1000;
/** Interval of last seen, in the list of sessions. */
const touchMs = 60_000;

export function createSessionVerifier(dependencies: SessionVerifierDependencies): SessionVerifier {
  const { read, now, watchMs = 5000 } = dependencies;
  /** Sessions by the hash of their token: the memory of a process holds no secrets of others. */
  const known = new LRUCache<string, ConsoleSession>({ max: maxKnown });
  const touched = new LRUCache<string, true>({ max: maxKnown, ttl: touchMs });
  const openResponses = new Map<string, Set<ServerResponse>>();

  const isCurrent = ({ expiresAt }: ConsoleSession) => Date.parse(expiresAt) > now();

  /** Nothing depends on it, and it must not delay a request. */
  function touch(token: string, tokenHash: string): void {
    if (touched.has(tokenHash)) return;
    touched.set(tokenHash, true);
    void read((session) => createConsoleSessions(session).touch(token)).catch(() =>
      touched.delete(tokenHash),
    );
  }

  /** Ids of the sessions that are valid; undefined during an outage. */
  async function readValid(): Promise<Set<string> | undefined> {
    try {
      const sessions = await read((session) => createConsoleSessions(session).list());
      return new Set(sessions.map(({ id }) => id));
    } catch {
      return undefined;
    }
  }

  async function dropEnded(): Promise<void> {
    if (known.size === 0 && openResponses.size === 0) return;
    const before = [...known.entries()];
    const valid = await readValid();
    for (const [tokenHash, session] of before) {
      if (!isCurrent(session) || valid?.has(session.id) === false) known.delete(tokenHash);
    }
    for (const [tokenHash, responses] of openResponses) {
      if (!known.has(tokenHash)) for (const res of responses) res.destroy();
    }
  }

  const watcher = setInterval(() => void dropEnded(), watchMs);
  watcher.unref();

  return {
    async verify(token, use) {
      const tokenHash = hashSecret(token);
      try {
        const session = await read((redis) => createConsoleSessions(redis).find(token));
        if (session === undefined) known.delete(tokenHash);
        else known.set(tokenHash, session);
        if (session !== undefined) touch(token, tokenHash);
        return session;
      } catch (error) {
        const last = known.get(tokenHash);
        if (use === 'change' || last === undefined || !isRedisUnavailable(error)) throw error;
        return isCurrent(last) ? last : undefined;
      }
    },
    watch(token, res) {
      // Then no 'close' follows.
      if (res.closed) return;
      const tokenHash = hashSecret(token);
      const responses = openResponses.get(tokenHash) ?? new Set();
      openResponses.set(tokenHash, responses.add(res));
      res.once('close', () => {
        responses.delete(res);
        if (responses.size === 0 && openResponses.get(tokenHash) === responses)
          openResponses.delete(tokenHash);
      });
    },
    forget: (token) => known.delete(hashSecret(token)),
    close: () => clearInterval(watcher),
  };
}
