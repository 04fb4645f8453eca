import { Agent, buildConnector, type Dispatcher } from 'undici';

const connectTimeoutMs = 2000;
/**
 * Maximum idle time, whatever the upstream allows. Far shorter than services keep an idle connection, and short because a
 * connection whose other end has vanished looks idle.
 */
const keepAliveMs = 5000;

/**
 * Creates the dispatcher of requests to the instances of a service.
 * @param connections maximum number for each instance
 */
export function createUpstreamPool(connections: number): Dispatcher {
  const connect = buildConnector({ timeout: connectTimeoutMs });
  return new Agent({
    connections,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    connect: (options, callback) =>
      connect(options, (...outcome) => {
        // Before undici's own listener, which reads the code.
        if (outcome[0] === null) outcome[1].on('error', renameReset);
        callback(...outcome);
      }),
  });
}

/**
 * A body without a length ends with its connection. undici takes a reset for such an end, too (its client-h1.js, because
 * of macOS), so that half a response looks whole; it knows the reset by its code alone.
 */
function renameReset(error: Error & { code?: unknown }): void {
  if (error.code === 'ECONNRESET') error.code = 'UND_ERR_SOCKET';
}
