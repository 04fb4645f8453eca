export interface EmbeddedRedis {
  url: string;
  /** One line for people: what runs and what that means for their data. */
  description: string;
  close(): Promise<void>;
}

/** Redis in JavaScript, over a real socket on loopback. Loaded where there is no native one only. */
export async function startInProcessRedis(announce: (url: string) => void): Promise<EmbeddedRedis> {
  const { createRedisCommandExecutor, RedisServerState, Resp2Server, resolveCompatibilityProfile } =
    await import('js-redis-server/core');
  const compatibility = resolveCompatibilityProfile(undefined);
  const state = new RedisServerState({ databaseCount: 1, compatibility });
  const server = new Resp2Server({ server: state, executor: createRedisCommandExecutor({ compatibility }) });
  // Its own listen() would open the port on all interfaces.
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const url = `redis://127.0.0.1:${server.getPort()}`;
  announce(url);
  return {
    url,
    description:
      'Redis in JavaScript within the gateway, kept in memory only: keys and counters end with it. ' +
      'With redis-server on PATH they are kept',
    close: () => server.close(),
  };
}
