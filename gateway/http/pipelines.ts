import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request on a connection, and its response. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
}

export interface Pipelines {
  /** Listener for requests, whatever event of Node's they come with. */
  serve: RequestListener;
  /** The last request that arrived on this connection, with or without a response. */
  last(socket: Socket): Exchange | undefined;
  /** The request that is being served. */
  serving(socket: Socket): Exchange | undefined;
  /** Runs the step when all requests of the connection have a response, unless it is closed before. */
  whenIdle(socket: Socket, step: () => void): void;
}

interface Pipeline {
  last: Exchange | undefined;
  requests: number;
  serving: Exchange | undefined;
  waiting: Exchange[];
  idleStep: (() => void) | undefined;
}

/** Maximum number of pipelined requests that wait for earlier ones. No honest client sends as many. */
const maxWaiting = 100;

/**
 * Serves the requests of one connection one after another. Node passes on all pipelined requests (RFC 9112 section 9.3.2)
 * at once, so one client could keep thousands of upstream connections busy through one connection.
 */
export function createPipelines(
  app: RequestListener,
  { maxRequestsPerConnection }: { maxRequestsPerConnection: number },
): Pipelines {
  const pipelines = new WeakMap<Socket, Pipeline>();

  function begin(socket: Socket, pipeline: Pipeline, exchange: Exchange): void {
    pipeline.serving = exchange;
    exchange.res.on('close', () => {
      pipeline.serving = undefined;
      // Requests after a response with Connection: close are not served (RFC 9112 section 9.6).
      if (!exchange.res.shouldKeepAlive || socket.destroyed) return;
      const next = pipeline.waiting.shift();
      if (next === undefined) pipeline.idleStep?.();
      else begin(socket, pipeline, next);
    });
    app(exchange.req, exchange.res);
  }

  return {
    serve(req, res) {
      const { socket } = req;
      const exchange = { req, res };
      let pipeline = pipelines.get(socket);
      if (pipeline === undefined) {
        pipeline = { last: undefined, requests: 0, serving: undefined, waiting: [], idleStep: undefined };
        pipelines.set(socket, pipeline);
      }
      // An earlier request asked for the connection to be closed.
      if (pipeline.last?.res.shouldKeepAlive === false) return;
      pipeline.last = exchange;
      pipeline.requests += 1;
      // Clients that never reconnect would never use an instance that was added later.
      if (pipeline.requests >= maxRequestsPerConnection) res.shouldKeepAlive = false;
      if (pipeline.serving === undefined) begin(socket, pipeline, exchange);
      else if (pipeline.waiting.length < maxWaiting) pipeline.waiting.push(exchange);
      else socket.destroy();
    },
    last: (socket) => pipelines.get(socket)?.last,
    serving: (socket) => pipelines.get(socket)?.serving,
    whenIdle(socket, step) {
      const pipeline = pipelines.get(socket);
      if (pipeline?.serving === undefined) step();
      else pipeline.idleStep = step;
    },
  };
}
