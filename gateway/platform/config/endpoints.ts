import type { Endpoint } from '#runtime/listen.ts';
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
