import type { Socket } from 'node:net';
import { Agent, Client, errors, Pool, type Dispatcher } from 'undici';
import { createUpstreamConnector } from './upstream-connector.ts';

const connectTimeoutMs = 2000;
/**
 * Maximum idle time, whatever the upstream allows. Far shorter than the pets service keeps an idle connection, and short
 * because a connection whose other end has vanished looks idle.
 */
const keepAliveMs = 5000;

/** Handler that is told which connection its request is sent on. */
export interface UpstreamHandler extends Dispatcher.DispatchHandler {
  connection?: UpstreamConnection;
}

/**
 * Creates the dispatcher of requests to the instances of the pets service.
 * @param connections maximum number for each instance
 */
export function createUpstreamDispatcher(connections: number): Dispatcher {
  const connect = createUpstreamConnector(connectTimeoutMs);
  const createPool = (origin: string | URL) => {
    const open = new Set<UpstreamConnection>();
    return new Pool(origin, {
      connections,
      connect,
      factory(url) {
        const connection: UpstreamConnection = new UpstreamConnection(url, open, (options, callback) =>
          connect(options, (...outcome) => {
            if (outcome[0] === null) connection.onOpen(outcome[1]);
            callback(...outcome);
          }),
        );
        return connection;
      },
    });
  };
  return new Agent({ factory: createPool });
}

/** A connection to one instance. When it is closed, undici opens it again for the next request. */
export class UpstreamConnection extends Client {
  /** All open connections to the instance. */
  readonly #open: Set<UpstreamConnection>;
  #socket: Socket | undefined;
  #openedAtMs = 0;
  /** Time at which the latest response began; undefined if there was none yet. */
  #heardAtMs: number | undefined;

  constructor(origin: URL, open: Set<UpstreamConnection>, connect: NonNullable<Client.Options['connect']>) {
    super(origin, {
      connect,
      // The transport has its own timers (response-timers.ts).
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
    });
    this.#open = open;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: UpstreamHandler): boolean {
    handler.connection = this;
    return super.dispatch(options, handler);
  }

  onOpen(socket: Socket): void {
    this.#socket = socket;
    this.#openedAtMs = performance.now();
    this.#heardAtMs = undefined;
    this.#open.add(this);
    socket.once('close', () => {
      if (this.#socket === socket) this.#open.delete(this);
    });
  }

  onResponse(): void {
    this.#heardAtMs = performance.now();
  }

  /**
   * Whether it seems that the other end has vanished without closing the connection: it has responded before, and since
   * the given time neither this connection nor any other that was open when it last responded. If only the response is
   * slow, others respond.
   */
  seemsDeadSince(sinceMs: number): boolean {
    const heardAtMs = this.#heardAtMs;
    if (heardAtMs === undefined || heardAtMs >= sinceMs) return false;
    for (const other of this.#open) {
      if (other.#openedAtMs <= heardAtMs && (other.#heardAtMs ?? 0) >= sinceMs) return false;
    }
    return true;
  }

  /** Closes all idle connections to the same instance that have not responded since the given time. */
  closeIdleSince(sinceMs: number): void {
    for (const other of this.#open) {
      if ((other.#heardAtMs ?? other.#openedAtMs) >= sinceMs || other.stats.running > 0) continue;
      // With this error undici sends a request that is about to be sent there on a new connection.
      other.#socket?.destroy(new errors.InformationalError('idle for too long'));
    }
  }
}

/** Has the code of a lost connection, after which a GET is retried. */
export class DeadConnectionError extends errors.SocketError {
  constructor() {
    super('the connection does not respond, and new ones do');
  }
}
