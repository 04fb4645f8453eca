import { ConfigError } from '#runtime/environment.ts';
import { errorMessage } from '#runtime/error-message.ts';
import type { Logger } from 'pino';
import { loadConfig, type Config } from '../platform/config/config.ts';
import { divideConnections } from '../platform/config/instance-config.ts';
import { findPrivateKey } from '../upstream/internal-token.ts';
import { loadServices, type LoadedServices } from '../upstream/load-services.ts';
import type { ReplaceWorkers, WorkerFiles } from './primary.ts';

interface ReloadDependencies {
  /** Settings of the start. */
  config: GatewayConfig;
  replaceWorkers: ReplaceWorkers;
  log: Logger;
}

/**
 * Reads the services file and the secrets again, and replaces the workers by ones that serve with them. An invalid file
 * changes nothing.
 * @returns a function that does it after those that are under way; it never rejects
 */
export function createReload({ config, replaceWorkers, log }: ReloadDependencies): () => Promise<void> {
  let last = Promise.resolve();

  async function reload(): Promise<void> {
    try {
      const files = readFiles(config);
      const services = files.services.map(({ name }) => name);
      await replaceWorkers(files);
      log.info({ services }, 'workers are replaced by ones that have read the files again');
    } catch (error) {
      const issues = error instanceof ConfigError ? error.issues : [errorMessage(error)];
      log.error({ issues }, 'files are not reloaded');
    }
  }

  return () => {
    last = last.then(reload);
    return last;
  };
}

/** @throws ConfigError with what is invalid, and with what the primary itself has read at its start */
function readFiles(before: GatewayConfig): WorkerFiles {
  const settings = loadSettings(process.env);
  const fixed = [
    ...(settings.redisUrl === before.redisUrl ? [] : ['REDIS_URL']),
    ...(settings.api.keyPrefix === before.api.keyPrefix ? [] : ['SERVICES_FILE: api.keyPrefix']),
  ];
  if (fixed.length > 0)
    throw new ConfigError(fixed.map((name) => `${name} has changed: restart the gateway`));
  const privateKey = findPrivateKey(settings.internalTokenPrivateKeyFile, settings.dataDir);
  return { ...divideConnections(settings), api: settings.api, privateKey };
}

export type GatewayConfig = Config & LoadedServices;

/** @throws ConfigError with every invalid setting, and with what is wrong in the files that settings name */
export function loadSettings(env: NodeJS.ProcessEnv): GatewayConfig {
  const config = loadConfig(env);
  const { services, api } = loadServices(config);
  return { ...config, services, api };
}
