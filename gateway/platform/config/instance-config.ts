import type { Endpoint } from '#runtime/listen.ts';
import type { Config } from './config.ts';
import type { ApiConfig, ServiceConfig } from './service-config.ts';

/** Settings of a process that serves requests, with what was found out and computed at the start. */
export interface InstanceConfig extends Config {
  redisUrl: string;
  /** Whether the gateway runs this Redis itself, and so knows how it keeps its data. */
  redisIsPrivate: boolean;
  /** The services behind the gateway; their connections, and those of `limits`, are those of one process. */
  services: readonly ServiceConfig[];
  api: ApiConfig;
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
