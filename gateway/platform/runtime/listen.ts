import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** Where a server listens, and the settings that an error message names. */
export interface Endpoint {
  portSetting: string;
  hostSetting: string;
  port: number;
  /** Undefined: all interfaces. */
  host: string | undefined;
}

/**
 * @returns the port, which the system chose if 0 was asked for
 * @throws Error that names the setting at fault and its value
 */
export async function listen(server: Server, endpoint: Endpoint): Promise<number> {
  const { port, host } = endpoint;
  try {
    server.listen({ port, ...(host === undefined ? {} : { host }) });
    await once(server, 'listening');
  } catch (error) {
    throw new Error(listenError(error, endpoint), { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** The host is at fault if it can't be resolved or is not an address of this machine; otherwise the port is. */
function listenError(error: unknown, { portSetting, hostSetting, port, host }: Endpoint): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const resolving = error instanceof Error && 'syscall' in error && error.syscall === 'getaddrinfo';
  if (resolving) return `${hostSetting}: ${host} can't be resolved (${code})`;
  // EINVAL: a link-local address without its zone, as in fe80::1%eth0.
  if (host !== undefined && ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'].includes(code)) {
    return `${hostSetting}: ${host} is not an address of this machine (${code})`;
  }
  const where = host === undefined ? `port ${port}` : `${host}:${port}`;
  if (code === 'EADDRINUSE') return `${portSetting}: ${where} is already in use by another program`;
  return `${portSetting}: ${where} can't be used (${String(error)})`;
}

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
