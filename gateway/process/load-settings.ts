import { loadConfig, type Config } from '../platform/config/config.ts';
import { loadServices, type LoadedServices } from '../upstream/load-services.ts';

export type GatewayConfig = Config & LoadedServices;

/** @throws ConfigError with every invalid setting, and with what is wrong in the files that settings name */
export function loadSettings(env: NodeJS.ProcessEnv): GatewayConfig {
  const config = loadConfig(env);
  const { services, api } = loadServices(config);
  return { ...config, services, api };
}
