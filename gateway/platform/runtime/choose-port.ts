import { createServer } from 'node:http';
import { listen, type Endpoint } from './listen.ts';

/**
 * Listens for a moment, to find out about a port that is taken or a host of another machine before anything starts.
 * @returns the port, or a free one if 0 was asked for
 * @throws Error as `listen` does
 */
export async function choosePort(endpoint: Endpoint): Promise<number> {
  const probe = createServer();
  const port = await listen(probe, endpoint);
  await new Promise((resolve) => {
    probe.close(resolve);
  });
  return port;
}
