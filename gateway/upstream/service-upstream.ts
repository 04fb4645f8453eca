import type { KeyObject } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { ServiceConfig } from '../platform/config/service-config.ts';
import { createAuthorize, type Authorize } from './internal-token.ts';
import type { TargetState } from './target.ts';
import { createReadinessProbe, createUpstreams, type Upstreams } from './upstreams.ts';

/** Everything that requests to one service need. Services share nothing, so that one that fails leaves the others alone. */
export interface ServiceUpstream {
  name: string;
  timeoutMs: number;
  /** Maximum number of streams of one customer: half of all connections, so that nobody takes all of them. */
  maxStreamsOfCustomer: number;
  /** Whether its responses may set cookies. */
  setCookie: boolean | undefined;
  upstreams: Upstreams;
  dispatcher: Dispatcher;
  authorize: Authorize;
}

interface ServiceUpstreamsDependencies {
  services: readonly ServiceConfig[];
  privateKey: KeyObject;
  log: Logger;
  /** Called at each change of the state of an instance, and with the first one. */
  onState: (service: string, origin: string, state: TargetState) => void;
  now: () => number;
}

/** @returns one for each service, in the same order */
export function createServiceUpstreams(
  dependencies: ServiceUpstreamsDependencies,
): readonly ServiceUpstream[] {
  const { services, privateKey, log, onState, now } = dependencies;
  return services.map(({ name, audience, urls, timeoutMs, connections, readiness, setCookie }) => ({
    name,
    timeoutMs,
    maxStreamsOfCustomer: Math.max(1, Math.floor((connections * urls.length) / 2)),
    setCookie,
    upstreams: createUpstreams({
      urls,
      probe: createReadinessProbe(readiness),
      log: log.child({ upstreamService: name }),
      onState: (origin, state) => onState(name, origin, state),
    }),
    dispatcher: createUpstreamPool(connections),
    authorize: createAuthorize(privateKey, now, audience),
  }));
}

export async function closeServiceUpstreams(services: readonly ServiceUpstream[]): Promise<void> {
  await Promise.all(services.map(({ upstreams }) => upstreams.close()));
  await Promise.all(services.map(({ dispatcher }) => dispatcher.destroy()));
}

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
function createUpstreamPool(connections: number): Dispatcher {
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
