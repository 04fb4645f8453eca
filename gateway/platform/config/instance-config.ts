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

/** Divides the connections that the settings allow the gateway among its processes, rounded up. */
export function divideConnections({
  workers,
  services,
  limits,
}: Config & Pick<InstanceConfig, 'services'>): Pick<InstanceConfig, 'services' | 'limits'> {
  const share = (count: number) => Math.ceil(count / workers);
  return {
    services: services.map((service) => ({ ...service, connections: share(service.connections) })),
    limits: {
      ...limits,
      maxConnections: share(limits.maxConnections),
      maxConnectionsPerAddress: share(limits.maxConnectionsPerAddress),
    },
  };
}
