import { createServer, type Socket } from 'node:net';

export interface EmbeddedRedis {
  url: string;
  /** One line for people: what runs, and what that means for their data. */
  description: string;
  close(): Promise<void>;
}

interface InProcessRedisOptions {
  password: string;
  /** Called with the address before clients can know it. */
  announce: (url: string) => void;
}

/** Every command of a Redis client is an array. Requests of a browser begin with the name of their method. */
const arrayPrefix = '*'.charCodeAt(0);
const refusal =
  '-ERR Possible SECURITY ATTACK detected: this is a Redis port, and the request is not of a Redis client\r\n';

/** Starts Redis in JavaScript, on a real socket on loopback. The library is a development dependency. */
export async function startInProcessRedis(options: InProcessRedisOptions): Promise<EmbeddedRedis> {
  const { password, announce } = options;
  const {
    attachSession,
    createRedisCommandExecutor,
    RedisServerState,
    resolveCompatibilityProfile,
    SocketConnectionTransport,
  } = await import('js-redis-server/core').catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    const message =
      'REDIS_URL is not set, and the embedded Redis is not installed: set REDIS_URL, or install redis-server';
    throw new Error(message, { cause: error });
  });
  const compatibility = resolveCompatibilityProfile(undefined);
  const state = new RedisServerState({ databaseCount: 1, compatibility, requirepass: password });
  const executor = createRedisCommandExecutor({ compatibility });
  const sockets = new Set<Socket>();
  // The library's own server listens on all interfaces, and executes the lines of an HTTP request.
  const server = createServer({ keepAlive: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.once('data', (firstBytes) => {
      if (firstBytes[0] !== arrayPrefix) {
        socket.write(refusal);
        socket.destroySoon();
        return;
      }
      socket.pause();
      socket.unshift(firstBytes);
      attachSession(new SocketConnectionTransport(socket), { state, executor });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the embedded Redis has no port');
  const url = `redis://default:${password}@127.0.0.1:${address.port}`;
  announce(url);
  return {
    url,
    description:
      'embedded, in JavaScript and in memory only: keys and counters are lost when it stops. ' +
      'With redis-server on PATH they are kept',
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      state.close();
    },
  };
}
