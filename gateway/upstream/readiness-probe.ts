import { Agent, request } from 'undici';

/** Asks an instance whether it is ready for requests. */
export interface ReadinessProbe {
  /** Rejects where no whole answer comes in time. */
  ask(origin: string): Promise<'ready' | 'not_ready'>;
  close(): Promise<void>;
}

/** The pets service takes half a second to say that its database does not answer. */
const timeoutMs = 1000;

/**
 * Asks `/readyz`, which needs no token, on a connection of its own each time: a kept one would not show that nobody
 * listens any more, and would take one of the requests' own. Whatever answers anything but 503 is there: not every
 * server has the path.
 */
export function createReadinessProbe(): ReadinessProbe {
  const dispatcher = new Agent({ connect: { timeout: timeoutMs }, pipelining: 0 });
  return {
    async ask(origin) {
      const signal = AbortSignal.timeout(timeoutMs);
      const { statusCode, body } = await request(`${origin}/readyz`, { dispatcher, signal });
      await body.dump();
      // Half a body is dropped without a word when the time is up.
      signal.throwIfAborted();
      return statusCode === 503 ? 'not_ready' : 'ready';
    },
    close: () => dispatcher.destroy(),
  };
}
