import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Shutdown } from '#runtime/lifecycle.ts';
import { isSafe } from './request.ts';

/** A request on a connection, and its response. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
}

interface Pipeline {
  last: Exchange | undefined;
  requests: number;
  serving: Exchange | undefined;
  waiting: Exchange[];
  idleStep: (() => void) | undefined;
}

/** A connection on which this many pipelined requests wait is not read until all of them are being served. */
const maxWaiting = 100;
/**
 * One read of 64 KiB can bring thousands of small requests at once. Above maxWaiting, connections are closed while this
 * many requests wait in the whole process: about 20 MB.
 */
const maxWaitingInAll = 10_000;

/**
 * Serves the requests of one connection one after another. Node passes on all pipelined requests (RFC 9112 section 9.3.2)
 * at once, so one client could keep thousands of upstream connections busy through one connection.
 */
export function createPipelines(
  app: RequestListener,
  { maxRequestsPerConnection }: { maxRequestsPerConnection: number },
  idle: IdleConnections,
) {
  const pipelines = new WeakMap<Socket, Pipeline>();
  let waitingInAll = 0;
  let draining = false;

  function begin(socket: Socket, pipeline: Pipeline, exchange: Exchange): void {
    if (draining) exchange.res.shouldKeepAlive = false;
    pipeline.serving = exchange;
    idle.remove(socket);
    exchange.res.on('close', () => {
      pipeline.serving = undefined;
      // Requests after a response with Connection: close are not served (RFC 9112 section 9.6).
      if (!exchange.res.shouldKeepAlive || socket.destroyed) {
        waitingInAll -= pipeline.waiting.length;
        pipeline.waiting = [];
        return;
      }
      const next = pipeline.waiting.shift();
      if (next === undefined) {
        idle.add(socket);
        pipeline.idleStep?.();
        return;
      }
      waitingInAll -= 1;
      if (pipeline.waiting.length === 0 && socket.isPaused()) socket.resume();
      begin(socket, pipeline, next);
    });
    app(exchange.req, exchange.res);
  }

  function wait(socket: Socket, pipeline: Pipeline, exchange: Exchange): void {
    pipeline.waiting.push(exchange);
    waitingInAll += 1;
    if (pipeline.waiting.length < maxWaiting) return;
    // Node resumes the socket within this tick, for each request without a body.
    process.nextTick(() => {
      if (pipeline.waiting.length > 0) socket.pause();
    });
  }

  return {
    /** Serves requests, whatever event of Node's they come with. */
    serve(req: IncomingMessage, res: ServerResponse): void {
      const { socket } = req;
      const exchange = { req, res };
      let pipeline = pipelines.get(socket);
      if (pipeline === undefined) {
        pipeline = { last: undefined, requests: 0, serving: undefined, waiting: [], idleStep: undefined };
        pipelines.set(socket, pipeline);
      }
      // An earlier request asked for the connection to be closed.
      if (pipeline.last?.res.shouldKeepAlive === false) {
        discardInput(socket);
        return;
      }
      pipeline.last = exchange;
      pipeline.requests += 1;
      // Clients that never reconnect would never use an instance that was added later.
      if (pipeline.requests >= maxRequestsPerConnection) res.shouldKeepAlive = false;
      // Node's parser drops what follows an Upgrade in the same read, so a later response would be taken for another's.
      if (req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
      // A body without a length may have no end, and with these methods the response does not wait for it.
      if (req.headers['transfer-encoding'] !== undefined && (isSafe(req) || req.method === 'OPTIONS'))
        res.shouldKeepAlive = false;
      if (pipeline.serving === undefined) begin(socket, pipeline, exchange);
      else if (pipeline.waiting.length < maxWaiting || waitingInAll < maxWaitingInAll) {
        wait(socket, pipeline, exchange);
      } else socket.destroy();
    },
    /** The last request that arrived on this connection, with or without a response. */
    last: (socket: Socket) => pipelines.get(socket)?.last,
    /** The request that is being served. */
    serving: (socket: Socket) => pipelines.get(socket)?.serving,
    /** Runs the step when all requests of the connection have a response, unless it is closed before. */
    whenIdle(socket: Socket, step: () => void): void {
      const pipeline = pipelines.get(socket);
      if (pipeline?.serving === undefined) step();
      else pipeline.idleStep ??= step;
    },
    get draining(): boolean {
      return draining;
    },
    /** Sends Connection: close with every response from now on. @param open all connections */
    drain(open: Iterable<Socket>): void {
      draining = true;
      for (const socket of open) {
        const res = pipelines.get(socket)?.serving?.res;
        if (res?.headersSent === false) res.shouldKeepAlive = false;
      }
    },
  };
}

/** Time for the first request of a connection that was just accepted to arrive. */
const arrivalMs = 1000;

export type Drain = ReturnType<typeof createDrain>;

/**
 * Lets requests in flight finish, so that a restart loses none.
 * @param onClosing called when no new connections are taken any more
 */
export function createDrain(
  server: Server,
  pipelines: ReturnType<typeof createPipelines>,
  onClosing: () => void,
) {
  /** Node's own list lacks connections on which CONNECT was sent. */
  const open = new Set<Socket>();

  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });

  function closeWhenIdle(sockets: Iterable<Socket>): void {
    for (const socket of sockets) pipelines.whenIdle(socket, () => socket.destroySoon());
  }

  function closeAll(): void {
    for (const socket of open) socket.destroy();
  }

  return {
    isDraining: () => pipelines.draining,
    /**
     * Sends Connection: close with every response during the delay, so that clients and load balancers move to another
     * instance. Then takes no new connections, and closes each connection after the response it is busy with. Resolves
     * when no connection is left.
     */
    async drain({ delayMs, force }: Shutdown): Promise<void> {
      pipelines.drain(open);
      await sleep(delayMs, undefined, { signal: force }).catch(() => {});
      onClosing();
      const closed = new Promise((resolve) => {
        // The method of HTTP servers would also close connections whose first request is on its way.
        NetServer.prototype.close.call(server, resolve);
      });
      closeWhenIdle([...open].filter(({ bytesRead }) => bytesRead > 0));
      setTimeout(() => closeWhenIdle(open), arrivalMs).unref();
      force.addEventListener('abort', closeAll);
      if (force.aborted) closeAll();
      await closed;
    },
  };
}

/**
 * Reads on without parsing. Node would keep an object for every further request, and a connection that is not read would
 * be reset when it is closed, which could destroy the last response.
 */
function discardInput(socket: Socket): void {
  socket.removeAllListeners('data').on('data', () => {});
}

/**
 * Closes connections of clients that do not read their responses. The limit is for the time that bytes wait without a
 * break, and not for progress: a client that reads a few bytes at a time could keep its response for hours. One interval
 * checks all connections, which costs a request nothing.
 */
export function closeSlowReaders(server: Server, timeoutMs: number): void {
  const waitingSince = new Map<Socket, number | undefined>();

  server.on('connection', (socket: Socket) => {
    waitingSince.set(socket, undefined);
    socket.on('drain', () => waitingSince.set(socket, undefined));
    socket.once('close', () => waitingSince.delete(socket));
  });

  const timer = setInterval(
    () => {
      const now = performance.now();
      for (const [socket, since] of waitingSince) {
        if (socket.writableLength === 0) {
          if (since !== undefined) waitingSince.set(socket, undefined);
        } else if (since === undefined) {
          waitingSince.set(socket, now);
        } else if (now - since >= timeoutMs) {
          socket.destroy();
        }
      }
    },
    Math.min(1000, timeoutMs),
  );
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

/** Of a body, in each timeout. With the default one 2 kB a second: a slower client would occupy its connection for hours. */
const minBytes = 64 * 1024;

/**
 * Watches how a request's body arrives. Node has a timeout for a request as a whole, which would end large uploads.
 * @param onSlow called once, if neither the body is complete nor enough of it has arrived within a timeout
 */
export function watchBody(req: IncomingMessage, timeoutMs: number, onSlow: () => void): void {
  const { socket } = req;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    // A service that does not read has a timeout of its own.
    const isReading = !req.isPaused() && !socket.isPaused();
    if (isReading && !req.complete && socket.bytesRead - before < minBytes) {
      clearInterval(timer);
      onSlow();
    }
    before = socket.bytesRead;
  }, timeoutMs);
  req.once('close', () => clearInterval(timer));
}

/** The client of a connection that was used within this time is likely to send its next request. */
const minIdleMs = 1000;

export type IdleConnections = ReturnType<typeof createIdleConnections>;

/** Connections that wait for a request. */
export function createIdleConnections() {
  /** Since when each is idle. A Map keeps the order of insertion, so the first is idle longest. */
  const idleSinceMs = new Map<Socket, number>();
  return {
    /** The connection has no request yet, or no more. */
    add: (socket: Socket) => void idleSinceMs.set(socket, performance.now()),
    /** A request arrived, or the connection was closed. */
    remove: (socket: Socket) => void idleSinceMs.delete(socket),
    /** Closes the connection that is idle longest. @returns false if all were used within the last second */
    closeLongest(): boolean {
      const [longest] = idleSinceMs;
      if (longest === undefined) return false;
      const [socket, sinceMs] = longest;
      if (performance.now() - sinceMs < minIdleMs) return false;
      idleSinceMs.delete(socket);
      socket.destroy();
      return true;
    },
  };
}
