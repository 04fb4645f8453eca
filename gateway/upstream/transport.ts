import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { Plugin } from 'http-proxy-middleware';
import type { Logger } from 'pino';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import type { ServiceConfig } from '../platform/config/service-config.ts';
import type { ResponseHeaders } from '../platform/http/response.ts';
import { createAuthorize } from './internal-token.ts';
import {
  createReadinessProbe,
  createUpstreams,
  type Target,
  type TargetState,
  type Upstreams,
} from './upstreams.ts';

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface TransportOptions<Req extends IncomingMessage, Res extends ServerResponse> {
  upstreams: Upstreams;
  /**
   * Maximum time that a request waits for one of the instance's connections; then the maximum time for the head of the
   * response, for the whole of one that is collected, and between the chunks of one that is streamed.
   */
  timeoutMs: number;
  /** Headers for the upstream, names and values in turn. */
  requestHeaders: (req: Req, res: Res) => string[];
  /** The body for the upstream: complete, or a stream of one that is still arriving. */
  requestBody: (res: Res) => Buffer | Readable | null;
  /** Counts a stream of the caller. @returns a function that undoes it @throws GatewayError if the caller has too many */
  takeStream: (res: Res) => () => void;
  /** What takes the connection to the service over, if the request becomes a WebSocket. */
  upgrade?: (req: Req, res: Res) => ((service: Duplex) => void) | undefined;
  /** Headers for the client, from those of the upstream and of the gateway. */
  responseHeaders: (res: Res, headers: UpstreamHeaders) => ResponseHeaders;
  /** Called with the code that an error of the service names. */
  onErrorCode: (res: Res, code: string) => void;
  /** Called with the time from first sending the request to its outcome, whatever that is, and the response's status. */
  onSettled: (res: Res, ms: number, status: number | undefined) => void;
  /** Starts the span of an attempt to send the request. Absent if no traces are exported. */
  startAttempt?: ((req: Req, res: Res, target: Target) => UpstreamAttempt | undefined) | undefined;
  /** @throws GatewayError if the upstream's response must not reach a client */
  checkResponse: (req: Req, status: number, headers: UpstreamHeaders) => void;
}

/** What the transport does with the span of an attempt. */
export interface UpstreamAttempt {
  /** Further headers for the upstream: names and values in turn. */
  headers: readonly string[];
  end: (status: number | undefined, error?: unknown) => void;
}

/**
 * Target for the middleware, which requires one; the transport chooses the real one. Not a URL, which the middleware
 * would parse for each request.
 */
export const placeholderTarget = { hostname: 'upstream' };

/** Sends a request and its response. Rejects with the error that the client gets, if it can still get one. */
export type Transport<Req, Res> = (req: Req, res: Res) => Promise<void>;

/**
 * Plugin for http-proxy-middleware that sends through undici. The middleware's own transport, node:http, takes twice the
 * CPU time of a whole request. Matching and errors stay with the middleware.
 * @param transportOf how a request is sent
 */
export function undiciTransport<Req extends IncomingMessage, Res extends ServerResponse>(
  transportOf: (res: Res) => Transport<Req, Res> | undefined,
): Plugin<Req, Res> {
  return function undiciTransport(proxyServer) {
    // A rejection makes the middleware emit 'error' and pass the error on to renderError.
    proxyServer.web = async (req, res) => transportOf(res)?.(req, res);
  };
}

export type ServiceUpstream = ReturnType<typeof createServiceUpstreams>[number];

interface ServiceUpstreamsDependencies {
  services: readonly ServiceConfig[];
  privateKey: KeyObject;
  log: Logger;
  /** Called at each change of the state of an instance, and with the first one. */
  onState: (service: string, origin: string, state: TargetState) => void;
  now: () => number;
}

/**
 * Everything that requests to services need, in the order of the services. They share nothing, so that one that fails leaves the
 * others alone.
 */
export function createServiceUpstreams(dependencies: ServiceUpstreamsDependencies) {
  const { services, privateKey, log, onState, now } = dependencies;
  return services.map(({ name, audience, urls, timeoutMs, connections, readiness, setCookie }) => ({
    name,
    timeoutMs,
    /** Maximum number of streams of one customer: half of all connections, so that nobody takes all of them. */
    maxStreamsOfCustomer: Math.max(1, Math.floor((connections * urls.length) / 2)),
    setCookie,
    upstreams: createUpstreams({
      urls,
      probe: createReadinessProbe(readiness),
      log: log.child({ upstreamService: name }),
      onState: (origin, state) => onState(name, origin, state),
      createPool: (origin) => createUpstreamPool(origin, connections),
    }),
    authorize: createAuthorize(privateKey, now, audience),
  }));
}

export async function closeServiceUpstreams(services: readonly ServiceUpstream[]): Promise<void> {
  await Promise.all(services.map(({ upstreams }) => upstreams.close()));
}

const connectTimeoutMs = 2000;
/**
 * Maximum idle time, whatever the upstream allows. Far shorter than services keep an idle connection, and short because a
 * connection whose other end has vanished looks idle.
 */
const keepAliveMs = 5000;

/** Creates the connections to an instance of a service. @param connections maximum number */
function createUpstreamPool(origin: string, connections: number): Dispatcher {
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
