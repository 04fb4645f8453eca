import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { ConfigError } from '#runtime/environment.ts';
import { errorMessage } from '#runtime/error-message.ts';
import type { Config } from '../platform/config/config.ts';
import { defaultKeyPrefix } from '../platform/config/key-prefix.ts';
import type { ApiConfig, DescriptionText, ServiceConfig } from '../platform/config/service-config.ts';
import { parseYamlFile, YamlFileError, type YamlIssue } from '../platform/config/yaml-file.ts';
import { loadApiDescription } from './api-description.ts';
import { petsApi, petsDescription, petsServiceName } from './pets-service.ts';
import { generalKeyVariable, servicesFileSchema, type ServicesFile } from './services-file-schema.ts';

type ServiceSettings = Pick<
  Config,
  'servicesFile' | 'petsServiceUrls' | 'upstreamTimeoutMs' | 'upstreamConnections' | 'maxBodyBytes'
>;

/** What is behind the gateway, and what it says of that. */
export interface LoadedServices {
  services: ServiceConfig[];
  api: ApiConfig;
}

/** Size of a thousand services. */
const maxBytes = 256 * 1024;

/**
 * Loads the services behind the gateway: those of SERVICES_FILE, or else the pets service.
 * @throws ConfigError that names file, line and reason of everything that is wrong in the file and what it names
 */
export function loadServices(settings: ServiceSettings): LoadedServices {
  const { servicesFile } = settings;
  if (servicesFile === undefined) {
    const fields = { urls: settings.petsServiceUrls };
    return {
      services: [serviceConfig(petsServiceName, fields, settings, petsDescription())],
      api: petsApi(),
    };
  }
  try {
    return readServicesFile(servicesFile, settings);
  } catch (error) {
    if (!(error instanceof YamlFileError)) throw error;
    throw new ConfigError(error.issues.map((issue) => `SERVICES_FILE: ${issue}`));
  }
}

/** A service with everything that its fields leave to defaults. */
function serviceConfig(
  name: string,
  fields: Omit<ServicesFile['services'][string], 'description'>,
  settings: ServiceSettings,
  description: DescriptionText | undefined,
): ServiceConfig {
  return {
    ...fields,
    name,
    description,
    audience: fields.audience ?? name,
    timeoutMs: fields.timeoutMs ?? settings.upstreamTimeoutMs,
    connections: fields.connections ?? settings.upstreamConnections,
    maxBodyBytes: fields.maxBodyBytes ?? settings.maxBodyBytes,
    readiness: fields.readiness ?? '/readyz',
    paths: fields.paths ?? [],
  };
}

/** @throws YamlFileError with everything that is wrong in the file and what it names */
export function readServicesFile(path: string, settings: ServiceSettings): LoadedServices {
  const { services, api } = readServiceSettings(path, settings);
  const { document } = loadApiDescription(undefined, services, api);
  if (api.title === undefined && services.some(({ name }) => name === petsServiceName))
    return { services, api };
  return { services, api: { ...api, productName: `${document.title} gateway` } };
}

/** Leaves out whether the descriptions are valid. @throws YamlFileError with what is wrong in the file itself */
function readServiceSettings(path: string, settings: ServiceSettings): LoadedServices {
  const options = { maxBytes };
  const { parsed, describe } = parseYamlFile(readBytes(path), basename(path), servicesFileSchema, options);
  const { api = {}, services } = parsed;
  const issues = sharedPaths(services);
  const read = (fields: readonly string[], named: string | undefined) => {
    try {
      return named === undefined ? undefined : readFileSync(resolve(dirname(path), named), 'utf8');
    } catch (error) {
      issues.push({ path: fields, text: whyUnreadable(named, error) });
      return undefined;
    }
  };
  const guide = read(['api', 'guide'], api.guide);
  const changelog = read(['api', 'changelog'], api.changelog);
  const found = Object.entries(services).map(([service, { description: named, ...fields }]) => {
    const text = read(['services', service, 'description'], named);
    const description = named === undefined || text === undefined ? undefined : { file: named, text };
    return serviceConfig(service, fields, settings, description);
  });
  // The guide of the pets service is for its API, alone or with other services.
  const own = Object.hasOwn(services, petsServiceName) ? petsApi(api) : generalApi;
  if (issues.length > 0) throw new YamlFileError(describe(issues));
  return {
    services: found,
    api: {
      ...own,
      ...api,
      guide: guide ?? own.guide,
      // Of the pets API, as its guide is.
      clients: guide === undefined ? own.clients : undefined,
      changelog: changelog ?? own.changelog,
      keyPrefix: api.keyPrefix ?? own.keyPrefix,
      keyHeader: api.keyHeader?.toLowerCase(),
      keyVariable: api.keyVariable ?? own.keyVariable,
    },
  };
}

/** What is said of an API whose file says nothing of it. */
const generalApi: ApiConfig = {
  keyPrefix: defaultKeyPrefix,
  keyVariable: generalKeyVariable,
  productName: 'API gateway',
};

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new YamlFileError([whyUnreadable(path, error)], { cause: error });
  }
}

function whyUnreadable(path: string | undefined, error: unknown): string {
  return `${path} can't be read (${errorMessage(error)})`;
}

/** Paths that two services have. */
function sharedPaths(services: ServicesFile['services']): YamlIssue[] {
  const owners = new Map<string, string>();
  return Object.entries(services).flatMap(([service, { paths = [] }]) =>
    paths.flatMap((path) => {
      const owner = owners.get(path);
      owners.set(path, service);
      if (owner === undefined) return [];
      const text = `services.${service}.paths has ${path}, ${owner === service ? 'twice' : `as ${owner} has`}`;
      return [{ path: ['services', service, 'paths'], text }];
    }),
  );
}
