import { Agent, request } from 'undici';

/** Checks whether an instance is ready for requests. */
export interface ReadinessProbe {
  /** Rejects if no complete response arrives in time. */
  check(origin: string): Promise<'ready' | 'not_ready'>;
  close(): Promise<void>;
}

/** A service may need half a second to say that its database does not respond. */
const timeoutMs = 1000;

/**
 * Requests a path, which needs no token, on a new connection each time: a kept connection would not show that nobody
 * listens any more. Any status but 503 counts as ready, since not every server has that path.
 */
export function createReadinessProbe(path = '/readyz'): ReadinessProbe {
  const dispatcher = new Agent({ connect: { timeout: timeoutMs }, pipelining: 0 });
  return {
    async check(origin) {
      const signal = AbortSignal.timeout(timeoutMs);
      const { statusCode, body } = await request(origin + path, { dispatcher, signal });
      await body.dump();
      // undici ends an incomplete body silently when the time is over.
      signal.throwIfAborted();
      return statusCode === 503 ? 'not_ready' : 'ready';
    },
    close: () => dispatcher.destroy(),
  };
}
