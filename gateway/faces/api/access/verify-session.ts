import { LRUCache } from 'lru-cache';
import { createConsoleSessions, type ConsoleSession } from '../../../control/access/console-sessions.ts';
import { hashSecret } from '../../../control/access/expiring-secrets.ts';
import { isRedisConnectionLost, isServerRefusal, isSlotMove } from '../../../platform/redis/redis-errors.ts';
import { ApiError } from '../api-error.ts';
import type { RouteApi } from '../route.ts';

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

interface SessionVerifierDependencies extends Pick<RouteApi, 'read'> {
  /** Unix milliseconds. */
  now: () => number;
}

const maxKnown = 1000;
/** Interval of dropping sessions that have ended. */
const dropMs = 5000;

export function createSessionVerifier({ read, now }: SessionVerifierDependencies): SessionVerifier {
  /** Sessions by the hash of their token: the memory of a process holds no secrets of others. */
  const known = new LRUCache<string, ConsoleSession>({ max: maxKnown });

  async function dropEnded(): Promise<void> {
    const before = [...known.entries()];
    if (before.length === 0) return;
    const valid = await read((session) => createConsoleSessions(session).list());
    for (const [tokenHash, { id }] of before) {
      if (!valid.some((session) => session.id === id)) known.delete(tokenHash);
    }
  }

  // During an outage nobody knows which have ended.
  const watcher = setInterval(() => void dropEnded().catch(() => {}), dropMs);
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
        if (use === 'change' || last === undefined || !isOutage(error)) throw error;
        return Date.parse(last.expiresAt) > now() ? last : undefined;
      }
    },
    forget: (token) => known.delete(hashSecret(token)),
    close: () => clearInterval(watcher),
  };
}

/** Whether Redis cannot be used at the moment, and it is not because of what it holds. */
function isOutage(error: unknown): boolean {
  // `read` throws no other.
  if (error instanceof ApiError) return true;
  return isServerRefusal(error) || isSlotMove(error) || isRedisConnectionLost(error);
}
