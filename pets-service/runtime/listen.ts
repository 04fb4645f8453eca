import { once } from 'node:events';
import type { Server } from 'node:http';

interface Endpoint {
  host: string;
  port: number;
}

/**
 * @returns the port, which the system chose where 0 was asked for
 * @throws Error that names the setting at fault and its value
 */
export async function listen(server: Server, { host, port }: Endpoint): Promise<number> {
  try {
    server.listen({ port, host });
    await once(server, 'listening');
  } catch (error) {
    throw new Error(describeFault(error, { host, port }), { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** The host is at fault where it has no address, or one that is not this machine's; otherwise the port is. */
function describeFault(error: unknown, { host, port }: Endpoint): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const resolving = error instanceof Error && 'syscall' in error && error.syscall === 'getaddrinfo';
  if (resolving) return `PETS_SERVICE_HOST: ${host} can't be resolved (${code})`;
  // EINVAL: a link-local address without its zone, as in fe80::1%eth0.
  if (['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'].includes(code))
    return `PETS_SERVICE_HOST: ${host} is not an address of this machine (${code})`;
  const reason =
    code === 'EADDRINUSE' ? 'is already in use by another program' : `can't be used (${String(error)})`;
  return `PETS_SERVICE_PORT: ${host}:${port} ${reason}`;
}
