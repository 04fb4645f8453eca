import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { ConfigError } from '#runtime/environment.ts';
import { errorMessage } from '#runtime/error-message.ts';
import type { z } from 'zod';
import { assertPublicUrl, type Config } from '../platform/config/config.ts';
import { defaultKeyPrefix } from '../platform/config/key-prefix.ts';
import type { ApiConfig, DescriptionText, ServiceConfig } from '../platform/config/service-config.ts';
import { readYamlFile, YamlFileError, type YamlIssue } from '../platform/config/yaml-file.ts';
import { describeServices } from './describe-services.ts';
import { petsApi, petsDescription, petsServiceName } from './pets-service.ts';
import { fieldsOf, textOf } from './service-description.ts';
import {
  apiFileSchema,
  generalKeyVariable,
  portalFileSchema,
  serviceFileSchema,
  servicesFileSchema,
  type ServicesFile,
} from './services-file-schema.ts';

type ServiceSettings = Pick<
  Config,
  'servicesFile' | 'petsServiceUrls' | 'upstreamTimeoutMs' | 'upstreamConnections' | 'maxBodyBytes'
> &
  Partial<Pick<Config, 'publicUrl'>>;

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
  return namingSetting(() => {
    const { basePaths, ...loaded } = readServicesFile(servicesFile, settings);
    assertPublicUrl(settings.publicUrl, basePaths);
    return loaded;
  });
}

/** @throws ConfigError that names SERVICES_FILE in place of a YamlFileError */
function namingSetting<T>(read: () => T): T {
  try {
    return read();
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
    name,
    audience: fields.audience ?? name,
    urls: fields.urls,
    timeoutMs: fields.timeoutMs ?? settings.upstreamTimeoutMs,
    connections: fields.connections ?? settings.upstreamConnections,
    maxBodyBytes: fields.maxBodyBytes ?? settings.maxBodyBytes,
    readiness: fields.readiness ?? '/readyz',
    description,
    paths: fields.paths ?? [],
    upgrade: fields.upgrade,
    setCookie: fields.setCookie,
  };
}

/** @throws YamlFileError with everything that is wrong in the file and what it names */
export function readServicesFile(
  path: string,
  settings: ServiceSettings,
): LoadedServices & { basePaths: readonly string[] } {
  const { services, api } = readServiceSettings(path, settings);
  const { document, basePaths } = describeServices(services, api);
  if (api.title === undefined && services.some(({ name }) => name === petsServiceName))
    return { services, api, basePaths };
  const title = textOf(fieldsOf(document['info'])['title']);
  return { services, api: { ...api, productName: `${title} gateway` }, basePaths };
}

/** Leaves out whether the descriptions are valid. @throws YamlFileError with what is wrong in the file itself */
function readServiceSettings(path: string, settings: ServiceSettings): LoadedServices {
  const name = basename(path);
  const file = readYamlFile(readBytes(path), name, { maxBytes });
  if (file.value === null) throw new YamlFileError([`${name} is empty: it needs the field services`]);
  const parsed = servicesFileSchema.safeParse(file.value);
  const issues: YamlIssue[] = [];
  const read = (fields: readonly string[], named: string) => {
    try {
      return readFile(resolve(dirname(path), named)).toString();
    } catch (error) {
      issues.push({ path: fields, text: whyUnreadable(named, error) });
      return '';
    }
  };
  // Also if other fields are invalid, to name at once all that is wrong with the API.
  const [guide, changelog] = ['guide', 'changelog'].map((field) => {
    const named = textOf(fieldsOf(fieldsOf(file.value)['api'])[field]);
    return named === '' ? undefined : read(['api', field], named);
  });
  if (!parsed.success)
    throw new YamlFileError(file.describe([...parsed.error.issues.flatMap(issuesOf), ...issues]));
  const { api = {}, services } = parsed.data;
  issues.push(...sharedValues(services));
  const found = Object.entries(services).map(([service, { description: named, ...fields }]) => {
    const text = named === undefined ? '' : read(['services', service, 'description'], named);
    return serviceConfig(service, fields, settings, named === undefined ? undefined : { file: named, text });
  });
  // The guide of the pets service is for its API, alone or with other services.
  const own = Object.hasOwn(services, petsServiceName) ? petsApi(api) : generalApi;
  if (issues.length > 0) throw new YamlFileError(file.describe(issues));
  return {
    services: found,
    api: {
      ...own,
      ...(guide === undefined ? {} : { guide, clients: undefined }),
      ...(changelog === undefined ? {} : { changelog }),
      title: api.title,
      basePath: api.basePath,
      portal: api.portal,
      keyPrefix: api.keyPrefix ?? own.keyPrefix,
      keyHeader: api.keyHeader?.toLowerCase(),
      keyVariable: api.keyVariable ?? own.keyVariable,
    },
  };
}

/** What is said of an API whose file says nothing of it. */
const generalApi: ApiConfig = {
  title: undefined,
  basePath: undefined,
  guide: undefined,
  clients: undefined,
  changelog: undefined,
  keyPrefix: defaultKeyPrefix,
  keyVariable: generalKeyVariable,
  productName: 'API gateway',
};

function readBytes(path: string): Buffer {
  try {
    return readFile(path);
  } catch (error) {
    throw new YamlFileError([whyUnreadable(path, error)], { cause: error });
  }
}

/** A pipe would stop the process until somebody writes to it, and a device might never end. */
function readFile(path: string): Buffer {
  if (!statSync(path).isFile()) throw new Error('it is not a file');
  return readFileSync(path);
}

function whyUnreadable(path: string, error: unknown): string {
  return `${path} can't be read (${errorMessage(error)})`;
}

/** An issue for each field that is not known, and one for any other problem. */
function issuesOf(issue: z.core.$ZodIssue): YamlIssue[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key],
      text: `${[...path, key].join('.')} is not known; known are ${knownFields(path).join(', ')}`,
    }));
  }
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? '') : issue.message;
  return [{ path, text: `${path.length === 0 ? 'the file' : path.join('.')} ${message}` }];
}

function knownFields(path: readonly string[]): string[] {
  if (path.length === 0) return Object.keys(servicesFileSchema.shape);
  if (path[0] === 'api')
    return Object.keys(path[1] === 'portal' ? portalFileSchema.shape : apiFileSchema.shape);
  return Object.keys(serviceFileSchema.shape);
}

/** What two services must not share: with one audience, a token of one is valid at the other. */
function sharedValues(services: ServicesFile['services']): YamlIssue[] {
  const owners = new Map<string, string>();
  return Object.entries(services).flatMap(([service, { audience = service, urls, paths = [] }]) =>
    [
      { field: 'audience', value: audience },
      ...urls.map((value) => ({ field: 'urls', value })),
      ...paths.map((value) => ({ field: 'paths', value })),
    ].flatMap(({ field, value }) => {
      const owner = owners.get(`${field} ${value}`);
      owners.set(`${field} ${value}`, service);
      if (owner === undefined) return [];
      const text = `services.${service}.${field} has ${value}, ${owner === service ? 'twice' : `as ${owner} has`}`;
      return [{ path: ['services', service, field], text }];
    }),
  );
}
