import { buildConnector } from 'undici';

/** Opens connections to the upstream, for undici. */
export function createUpstreamConnector(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs });
  return function connectToUpstream(options, callback) {
    connect(options, (...outcome) => {
      // Before undici's own listener, which reads the code.
      if (outcome[0] === null) outcome[1].on('error', renameReset);
      callback(...outcome);
    });
  };
}

/**
 * A body without a length ends with its connection. undici takes a reset for such an end, too (its client-h1.js, because
 * of macOS), so that half a response looks whole; it knows the reset by its code alone.
 */
function renameReset(error: Error & { code?: unknown }): void {
  if (error.code === 'ECONNRESET') error.code = 'UND_ERR_SOCKET';
}
