export interface EmbeddedRedis {
  url: string;
  /** One line for people: what runs, and what that means for their data. */
  description: string;
  close(): Promise<void>;
}

/** Starts Redis in JavaScript, on a real socket on loopback. The library is loaded only if it is needed. */
export async function startInProcessRedis(announce: (url: string) => void): Promise<EmbeddedRedis> {
  const { createRedisCommandExecutor, RedisServerState, Resp2Server, resolveCompatibilityProfile } =
    await import('js-redis-server/core');
  const compatibility = resolveCompatibilityProfile(undefined);
  const state = new RedisServerState({ databaseCount: 1, compatibility });
  const server = new Resp2Server({ server: state, executor: createRedisCommandExecutor({ compatibility }) });
  // The library's own listen() would open the port on all interfaces.
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const url = `redis://127.0.0.1:${server.getPort()}`;
  announce(url);
  return {
    url,
    description:
      'embedded, in JavaScript and in memory only: keys and counters are lost when it stops. ' +
      'With redis-server on PATH they are kept',
    close: () => server.close(),
  };
}
