import { startRelay } from '../upstreams/relay.ts';

/** Relays connections to a Redis server, and can disturb them. */
export async function startRedisRelay(targetPort: number) {
  let port = targetPort;
  let discarding = false;
  let losing: string | undefined;
  const relay = await startRelay(
    () => port,
    (client, target) => {
      let lost = false;
      client.on('data', (chunk) => {
        if (losing !== undefined && chunk.includes(losing)) {
          losing = undefined;
          lost = true;
        }
        target.write(chunk);
      });
      target.on('data', (chunk) => {
        if (lost) client.destroy();
        else if (!discarding) client.write(chunk);
      });
    },
  );
  return {
    ...relay,
    url: `redis://127.0.0.1:${relay.port}`,
    /** Discards everything that the server sends from now on. */
    discardReplies() {
      discarding = true;
    },
    /** Passes on the next command that contains the text, and closes the connection instead of passing on the reply. */
    loseReplyTo(command: string) {
      losing = command;
    },
    /** Closes all connections, and relays later ones to another port. */
    switchTo(newPort: number) {
      port = newPort;
      relay.closeAll();
    },
  };
}
