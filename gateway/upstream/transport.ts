import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { ServiceConfig } from '../platform/config/service-config.ts';
import type { ResponseHeaders } from '../platform/http/response.ts';
import { createAuthorize } from './internal-token.ts';
import { createUpstreams, type Target, type TargetState, type Upstreams } from './upstreams.ts';

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
  /** Whether a request with an Idempotency-Key can be sent again: its operation describes that header. */
  takesIdempotencyKey?: (req: Req, res: Res) => boolean;
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

/** Sends a request and its response. Rejects with the error that the client gets, if it can still get one. */
export type Transport<Req, Res> = (req: Req, res: Res) => Promise<void>;

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
      connections,
      readiness,
      log: log.child({ upstreamService: name }),
      onState: (origin, state) => onState(name, origin, state),
    }),
    authorize: createAuthorize(privateKey, now, audience),
  }));
}
