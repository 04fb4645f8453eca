import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** Where a server listens, and the setting that says so, for the message where it can't. */
export interface Endpoint {
  setting: string;
  port: number;
  /** Undefined: all interfaces. */
  host: string | undefined;
}

/**
 * @returns the port, which the system chose where 0 was asked for
 * @throws Error that names the setting and the port
 */
export async function listen(server: Server, { setting, port, host }: Endpoint): Promise<number> {
  try {
    server.listen({ port, ...(host === undefined ? {} : { host }) });
    await once(server, 'listening');
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const where = host === undefined ? `port ${port}` : `${host}:${port}`;
    const reason = taken ? 'is already in use by another program' : `can't be used (${String(error)})`;
    throw new Error(`${setting}: ${where} ${reason}`, { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** Finds a port that is taken before anything is started or written. */
export async function assertFree(endpoint: Endpoint): Promise<void> {
  if (endpoint.port !== 0) await choosePort(endpoint);
}

/**
 * @returns the port, or one that is free where 0 was asked for
 * @throws as `listen`
 */
export async function choosePort(endpoint: Endpoint): Promise<number> {
  const probe = createServer();
  const port = await listen(probe, endpoint);
  await new Promise((resolve) => {
    probe.close(resolve);
  });
  return port;
}
