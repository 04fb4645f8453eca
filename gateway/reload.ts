import { hash, type KeyObject } from 'node:crypto';
import { ConfigError } from '#runtime/environment.ts';
import { errorMessage } from '#runtime/error-message.ts';
import type { Logger } from 'pino';
import { divideConnections } from './config/connection-budget.ts';
import type { InstanceConfig } from './config/instance-config.ts';
import { YamlFileError } from './config/yaml-file.ts';
import { loadSettingsAgain, type GatewayConfig } from './load-settings.ts';
import type { ReloadState } from './observability/process-status.ts';
import { findRefusedLogin } from './redis/find-refused-login.ts';
import type { ReloadedFiles, Service } from './service.ts';
import type { LoadedServices } from './services/load-services.ts';
import { findPrivateKey, writePublicKey } from './upstream/internal-token-keys.ts';

/** Reads the files of the settings again while the gateway runs. */
export interface Reloader {
  /** Never rejects: what went wrong is logged and published. @param request of `ops services reload`, if it is one */
  reload(request?: string): Promise<void>;
}

interface ReloaderDependencies {
  /** The settings of the start. */
  config: GatewayConfig;
  /** What the start has computed from them. */
  instanceConfig: InstanceConfig;
  privateKey: KeyObject;
  env: NodeJS.ProcessEnv;
  service: Pick<Service, 'reload'>;
  /** Called with the address of Redis, whose user and password may have changed. */
  onRedisUrl: (url: string) => void;
  log: Logger;
}

export function createReloader(dependencies: ReloaderDependencies): Reloader {
  const { config, instanceConfig, env, service, onRedisUrl, log } = dependencies;
  let { privateKey } = dependencies;
  let { redisUrl } = instanceConfig;
  let state = initialReloadState(config);
  let last = Promise.resolve();

  async function readFiles(): Promise<{ files: ReloadedFiles; revision: string }> {
    const settings = loadSettingsAgain(env, config);
    const { services, maxOwnConnections, limits } = divideConnections(settings, log);
    if (
      maxOwnConnections < instanceConfig.maxOwnConnections ||
      limits.maxConnections < instanceConfig.limits.maxConnections
    ) {
      throw new ConfigError([
        'the services would take connections that clients may have (ulimit -n): raise it and restart the gateway, or lower UPSTREAM_CONNECTIONS',
      ]);
    }
    const url = settings.redisUrl ?? redisUrl;
    const refused = url === redisUrl ? undefined : await findRefusedLogin(url);
    if (refused !== undefined) throw new ConfigError([`REDIS_URL is refused by Redis: ${refused}`]);
    const files = {
      services,
      api: settings.api,
      privateKey: findPrivateKey(settings.privateKeyFile, settings.dataDirectory),
      redisUrl: url,
    };
    return { files, revision: revisionOf(settings) };
  }

  function use(files: ReloadedFiles, next: ReloadState): void {
    const { publicKeyOutput } = config;
    const isNewKey = publicKeyOutput !== undefined && !files.privateKey.equals(privateKey);
    if (isNewKey) writePublicKey(files.privateKey, publicKeyOutput);
    try {
      service.reload({ files, state: next });
    } catch (error) {
      if (isNewKey) writePublicKey(privateKey, publicKeyOutput);
      throw error;
    }
    onRedisUrl(files.redisUrl);
    ({ privateKey, redisUrl } = files);
    state = next;
  }

  async function reload(request: string | undefined): Promise<void> {
    if (request !== undefined && request === state.request) return;
    const attempt = { request: request ?? state.request, at: new Date().toISOString() };
    try {
      const { files, revision } = await readFiles();
      use(files, { ...attempt, revision, issues: [] });
      log.info({ revision, services: files.services.map(({ name }) => name) }, 'files are reloaded');
    } catch (error) {
      const issues = issuesOf(error);
      log.error({ issues }, 'reload is refused; nothing is changed');
      state = { ...state, ...attempt, issues: shortened(issues) };
      service.reload({ files: undefined, state });
    }
  }

  return {
    reload(request) {
      last = last.then(() => reload(request));
      return last;
    },
  };
}

/** Before the first reload. */
export function initialReloadState(loaded: LoadedServices): ReloadState {
  return { revision: revisionOf(loaded), request: null, at: null, issues: [] };
}

/** Beginning of the SHA-256 of the services and their descriptions: equal for gateways that serve the same. */
function revisionOf({ services, api }: LoadedServices): string {
  // The console's name needs a restart.
  const { productName: _fixed, ...reloaded } = api;
  return hash('sha256', JSON.stringify([services, reloaded]), 'hex').slice(0, 12);
}

function issuesOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.issues;
  if (error instanceof YamlFileError) return error.issues.map((issue) => `SERVICES_FILE: ${issue}`);
  return [errorMessage(error)];
}

const maxIssues = 10;
const maxLength = 500;

/** They are published twice a second. */
function shortened(issues: readonly string[]): string[] {
  const more = issues.length - maxIssues;
  return [
    ...issues.slice(0, maxIssues).map((issue) => issue.slice(0, maxLength)),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}
