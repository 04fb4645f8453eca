import { ConfigError } from '#runtime/environment.ts';
import { assertPortsDiffer, loadConfig, type Config } from './config/config.ts';
import { withoutCredentials } from './config/redis-url.ts';
import {
  loadServices,
  namingSetting,
  readServiceSettings,
  type LoadedServices,
} from './services/load-services.ts';

export type GatewayConfig = Config & LoadedServices;

/** @throws ConfigError with every invalid setting, and with what is wrong in the files that settings name */
export function loadSettings(env: NodeJS.ProcessEnv): GatewayConfig {
  const config = loadConfig(env);
  return withServices(config, loadServices(config));
}

/**
 * Loads them again in a gateway that runs. Leaves unchecked whether the descriptions of the services are valid.
 * @param before the settings that it runs with
 * @throws ConfigError as loadSettings, and if a file holds what takes a restart
 */
export function loadSettingsAgain(env: NodeJS.ProcessEnv, before: GatewayConfig): GatewayConfig {
  const config = loadConfig(env);
  const { servicesFile, redisUrl = '' } = config;
  if (withoutCredentials(redisUrl) !== withoutCredentials(before.redisUrl ?? '')) {
    throw new ConfigError(['REDIS_URL has changed in more than user and password: restart the gateway']);
  }
  const loaded =
    servicesFile === undefined
      ? { services: before.services, api: before.api }
      : namingSetting(() => readServiceSettings(servicesFile, config));
  if (loaded.api.keyPrefix !== before.api.keyPrefix)
    throw new ConfigError(['SERVICES_FILE: api.keyPrefix has changed: restart the gateway']);
  return withServices(config, loaded);
}

/** @throws ConfigError if a service has a port of the gateway */
function withServices(config: Config, { services, api }: LoadedServices): GatewayConfig {
  assertPortsDiffer(config, config.servicesFile === undefined ? undefined : services);
  return { ...config, services, api };
}

/** Whether a setting names a file that a reload reads again. */
export function namesReloadedFile({ servicesFile, privateKeyFile }: Config, env: NodeJS.ProcessEnv): boolean {
  return servicesFile !== undefined || privateKeyFile !== undefined || Boolean(env['REDIS_URL_FILE']);
}
