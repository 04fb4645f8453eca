import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { errorMessage } from '#runtime/error-message.ts';
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
  settings: 'GATEWAY_HOST, GATEWAY_PORT',
  port,
  host,
});

export const adminEndpoint = ({
  adminPort,
  adminHost,
}: Pick<Config, 'adminPort' | 'adminHost'>): Endpoint => ({
  settings: 'GATEWAY_ADMIN_HOST, GATEWAY_ADMIN_PORT',
  port: adminPort,
  host: adminHost,
});

/** Host names of the admin port other than localhost, in lower case. */
export function adminHostNames({ adminHosts, adminHost, adminUrl }: Config): string[] {
  const publicHost = adminUrl === undefined ? [] : [new URL(adminUrl).hostname];
  return [...adminHosts, adminHost.toLowerCase(), ...publicHost];
}

/** Where a server listens. */
interface Endpoint {
  /** Names of the settings that say so, for an error message. */
  settings: string;
  port: number;
  /** Undefined: all interfaces. */
  host: string | undefined;
}

/**
 * @returns the port, which the system chose if 0 was asked for
 * @throws Error that names the settings and their value
 */
export async function listen(server: Server, endpoint: Endpoint): Promise<number> {
  const { settings, port, host } = endpoint;
  try {
    server.listen({ port, ...(host === undefined ? {} : { host }) });
    await once(server, 'listening');
  } catch (error) {
    const where = host === undefined ? `port ${port}` : `${host}:${port}`;
    throw new Error(`${settings}: can't listen on ${where} (${errorMessage(error)})`, { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
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
