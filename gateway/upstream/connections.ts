import type { Socket } from 'node:net';
import { Agent, buildConnector, Pool, request, type Dispatcher } from 'undici';

const connectTimeoutMs = 2000;
/**
 * Maximum idle time, whatever the upstream allows. Far shorter than services keep an idle connection, and short because a
 * connection whose other end has vanished looks idle.
 */
const keepAliveMs = 5000;

/** Creates the connections to an instance of a service. @param connections maximum number */
export function createUpstreamPool(origin: string, connections: number): Dispatcher {
  const connect = buildConnector({ timeout: connectTimeoutMs });
  return new Pool(origin, {
    connections,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    connect: (options, callback) =>
      connect(options, (...outcome) => {
        // Before undici's own listener, which reads the code.
        if (outcome[0] === null) outcome[1].on('error', renameReset);
        callback(...outcome);
        if (outcome[0] === null) skipContinue(outcome[1]);
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

interface Parser {
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number;
}

/**
 * undici closes the connection on a 100 (Continue), for which it never asks, but skips other interim responses. A client
 * must be able to parse one that it does not expect (RFC 9110 section 15.2), so its parser is told that it is a 102. The
 * parser is not part of undici's interface; without it, a 100 is a 502 again.
 */
function skipContinue(socket: Socket): void {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
  const parser: unknown = symbol === undefined ? undefined : Reflect.get(socket, symbol);
  if (!isParser(parser)) return;
  const onHeadersComplete = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, upgrade, keepAlive) =>
    onHeadersComplete(status === 100 ? 102 : status, upgrade, keepAlive);
}

function isParser(value: unknown): value is Parser {
  return typeof value === 'object' && value !== null && 'onHeadersComplete' in value;
}

/** A service may need half a second to say that its database does not respond. */
const probeTimeoutMs = 1000;

/**
 * Checks whether an instance is ready for requests, by a request for a path, which needs no token, on a new connection each time: a
 * kept one would not show that nobody listens any more. Any status but 503 counts as ready, since not every server has that path.
 */
export function createReadinessProbe(path: string) {
  const dispatcher = new Agent({ connect: { timeout: probeTimeoutMs }, pipelining: 0 });
  return {
    /** Rejects if no complete response arrives in time. */
    async check(origin: string): Promise<'ready' | 'not_ready'> {
      const signal = AbortSignal.timeout(probeTimeoutMs);
      const { statusCode, body } = await request(origin + path, { dispatcher, signal });
      await body.dump();
      // undici ends an incomplete body silently when the time is over.
      signal.throwIfAborted();
      return statusCode === 503 ? 'not_ready' : 'ready';
    },
    close: () => dispatcher.destroy(),
  };
}
