import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Config } from './config.ts';

/** Host that a browser on this machine can open. A wildcard address is not. */
export function browserHost(host: string | undefined): string {
  if (host === undefined || ['', '0.0.0.0', '::', '127.0.0.1', '::1'].includes(host)) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Origin at which people open the console.
 * @param adminPort the port that the gateway listens on, which the system chose if the setting is 0
 */
export function consoleOrigin({ adminUrl, adminHost }: Config, adminPort: number): string {
  return adminUrl ?? `http://${browserHost(adminHost)}:${adminPort}`;
}

/** Base URL at which people on this machine open the public pages, if PUBLIC_URL does not say where that is for others. */
export function publicOrigin({ publicUrl, host, port }: Pick<Config, 'publicUrl' | 'host' | 'port'>): string {
  return publicUrl ?? `http://${browserHost(host)}:${port}`;
}

/** Link that begins a session of the portal. */
export function portalLink(origin: string, code: string): string {
  return `${origin}/portal#code=${code}`;
}

/** Link that begins a session. What is behind # reaches no log, no Referer and no preview of the link. */
export function consoleLink(origin: string, code: string): string {
  return `${origin}/console#code=${code}`;
}

export const publicEndpoint = ({ port, host }: Pick<Config, 'port' | 'host'>): Endpoint => ({
  portSetting: 'GATEWAY_PORT',
  hostSetting: 'GATEWAY_HOST',
  port,
  host,
});

export const adminEndpoint = ({
  adminPort,
  adminHost,
}: Pick<Config, 'adminPort' | 'adminHost'>): Endpoint => ({
  portSetting: 'GATEWAY_ADMIN_PORT',
  hostSetting: 'GATEWAY_ADMIN_HOST',
  port: adminPort,
  host: adminHost,
});

/** Host names of the admin port other than localhost, in lower case. */
export function adminHostNames({ adminHosts, adminHost, adminUrl }: Config): string[] {
  const publicHost = adminUrl === undefined ? [] : [new URL(adminUrl).hostname];
  return [...adminHosts, adminHost.toLowerCase(), ...publicHost];
}

/** Where a server listens, and the settings that an error message names. */
interface Endpoint {
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
