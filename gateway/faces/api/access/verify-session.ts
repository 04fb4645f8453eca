import { LRUCache } from 'lru-cache';
import { hashSecret } from '../../../control/access/console-secret.ts';
import { createConsoleSessions, type ConsoleSession } from '../../../control/access/console-sessions.ts';
import type { ApiDependencies } from '../api-dependencies.ts';
import { isRedisUnavailable } from './is-redis-unavailable.ts';

export interface SessionVerifier {
  /**
   * Finds the session of a token, in Redis at each request, so that one that was ended is over at once. During an outage
   * of Redis, a session that this process has seen stays valid for reading: an operator must see the console then.
   * @returns undefined if it has ended, has expired or never existed
   * @throws ApiError service_unavailable for a change during an outage, or a session that this process has not seen
   */
  verify(token: string, use: 'read' | 'change'): Promise<ConsoleSession | undefined>;
  /** To be called when a person has signed out. */
  forget(token: string): void;
  close(): void;
}

interface SessionVerifierDependencies {
  read: ApiDependencies['read'];
  /** Unix milliseconds. */
  now: () => number;
}

const maxKnown = 1000;
/** Interval of dropping sessions that have ended. */
const dropMs = 5000;

export function createSessionVerifier(dependencies: SessionVerifierDependencies): SessionVerifier {
  const { read, now } = dependencies;
  /** Sessions by the hash of their token: the memory of a process holds no secrets of others. */
  const known = new LRUCache<string, ConsoleSession>({ max: maxKnown });

  const isCurrent = ({ expiresAt }: ConsoleSession) => Date.parse(expiresAt) > now();

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
    if (known.size === 0) return;
    const before = [...known.entries()];
    const valid = await readValid();
    for (const [tokenHash, session] of before) {
      if (!isCurrent(session) || valid?.has(session.id) === false) known.delete(tokenHash);
    }
  }

  const watcher = setInterval(() => void dropEnded(), dropMs);
  watcher.unref();

  return {
    async verify(token, use) {
      const tokenHash = hashSecret(token);
      try {
        const session = await read((redis) => createConsoleSessions(redis).find(token));
        if (session === undefined) known.delete(tokenHash);
        else known.set(tokenHash, session);
        return session;
      } catch (error) {
        const last = known.get(tokenHash);
        if (use === 'change' || last === undefined || !isRedisUnavailable(error)) throw error;
        return isCurrent(last) ? last : undefined;
      }
    },
    forget: (token) => known.delete(hashSecret(token)),
    close: () => clearInterval(watcher),
  };
}
