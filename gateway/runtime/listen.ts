import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** Where a server listens, and the settings that say so, for the message where it can't. */
export interface Endpoint {
  portSetting: string;
  hostSetting: string;
  port: number;
  /** Undefined: all interfaces. */
  host: string | undefined;
}

/**
 * @returns the port, which the system chose where 0 was asked for
 * @throws Error that names the setting at fault and its value
 */
export async function listen(server: Server, endpoint: Endpoint): Promise<number> {
  const { port, host } = endpoint;
  try {
    server.listen({ port, ...(host === undefined ? {} : { host }) });
    await once(server, 'listening');
  } catch (error) {
    throw new Error(describeFault(error, endpoint), { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** A host is at fault where it has no address, or one that is not this machine's; otherwise the port is. */
function describeFault(error: unknown, { portSetting, hostSetting, port, host }: Endpoint): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const resolving = error instanceof Error && 'syscall' in error && error.syscall === 'getaddrinfo';
  if (resolving) return `${hostSetting}: ${host} can't be resolved (${code})`;
  // EINVAL: a link-local address without its zone, as in fe80::1%eth0.
  if (host !== undefined && ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'].includes(code))
    return `${hostSetting}: ${host} is not an address of this machine (${code})`;
  const where = host === undefined ? `port ${port}` : `${host}:${port}`;
  const reason =
    code === 'EADDRINUSE' ? 'is already in use by another program' : `can't be used (${String(error)})`;
  return `${portSetting}: ${where} ${reason}`;
}

/**
 * Finds a port that is taken, or a host that is not here: listens there for a moment.
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
