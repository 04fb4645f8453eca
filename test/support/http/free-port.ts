import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of the loopback interface that nobody uses at this moment. Not one of those that Linux gives to connections
 * (net.ipv4.ip_local_port_range): what listens on it may be stopped and started again, and find it taken by one meanwhile.
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
    await new Promise((resolve) => {
      server.close(resolve);
    });
    return port;
  }
}
