import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { close } from './listening.ts';

/**
 * Finds an unused port of the loopback interface. It is outside of net.ipv4.ip_local_port_range, so that no outgoing
 * connection takes it while a server restarts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    const server = createServer();
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    await close(server);
    return port;
  }
}
