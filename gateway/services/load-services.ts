import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { ConfigError } from '#runtime/environment.ts';
import { errorMessage } from '#runtime/error-message.ts';
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { DescriptionText, ServiceConfig } from '../config/service-config.ts';
import { readYamlFile, YamlFileError, type YamlFile, type YamlIssue } from '../config/yaml-file.ts';
import { describeServices } from './describe-services.ts';
import { petsDescription, petsServiceName } from './pets-service.ts';
import { serviceFileSchema, servicesFileSchema, type ServicesFile } from './services-file-schema.ts';

type ServiceSettings = Pick<
  Config,
  'servicesFile' | 'petsServiceUrls' | 'upstreamTimeoutMs' | 'upstreamConnections'
>;

/** Size of a thousand services. */
const maxBytes = 256 * 1024;

/**
 * Loads the services behind the gateway: those of SERVICES_FILE, or else the pets service.
 * @throws ConfigError that names file, line and reason of everything that is wrong in the file and the descriptions
 */
export function loadServices(settings: ServiceSettings): ServiceConfig[] {
  const { servicesFile } = settings;
  if (servicesFile === undefined) return [petsService(settings)];
  return namingSetting(() => readServicesFile(servicesFile, settings));
}

/** @throws ConfigError that names SERVICES_FILE in place of a YamlFileError */
export function namingSetting<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof YamlFileError)) throw error;
    throw new ConfigError(error.issues.map((issue) => `SERVICES_FILE: ${issue}`));
  }
}

function petsService({
  petsServiceUrls,
  upstreamTimeoutMs,
  upstreamConnections,
}: ServiceSettings): ServiceConfig {
  return {
    name: petsServiceName,
    audience: petsServiceName,
    urls: petsServiceUrls,
    timeoutMs: upstreamTimeoutMs,
    connections: upstreamConnections,
    readiness: '/readyz',
    description: petsDescription(),
  };
}

/** @throws YamlFileError with everything that is wrong in the file and the descriptions that it names */
export function readServicesFile(path: string, settings: ServiceSettings): ServiceConfig[] {
  const services = readServiceSettings(path, settings);
  describeServices(services);
  return services;
}

/** Leaves out whether the descriptions are valid. @throws YamlFileError with what is wrong in the file itself */
export function readServiceSettings(path: string, settings: ServiceSettings): ServiceConfig[] {
  const name = basename(path);
  const file = readYamlFile(readBytes(path), name, { maxBytes });
  if (file.value === null) throw new YamlFileError([`${name} is empty: it needs the field services`]);
  const parsed = servicesFileSchema.safeParse(file.value);
  if (!parsed.success) throw new YamlFileError(file.describe(parsed.error.issues.flatMap(issuesOf)));
  const { services } = parsed.data;
  const shared = sharedValues(services);
  if (shared.length > 0) throw new YamlFileError(file.describe(shared));
  return Object.entries(services).map(([service, fields]) => ({
    name: service,
    audience: fields.audience ?? service,
    urls: fields.urls,
    timeoutMs: fields.timeoutMs ?? settings.upstreamTimeoutMs,
    connections: fields.connections ?? settings.upstreamConnections,
    readiness: fields.readiness ?? '/readyz',
    description: readText(file, service, fields.description, dirname(path)),
  }));
}

/** Reads the OpenAPI file of a service. @throws YamlFileError that names the line that names it */
function readText(file: YamlFile, service: string, path: string, folder: string): DescriptionText {
  try {
    return { file: path, text: readFileSync(resolve(folder, path), 'utf8') };
  } catch (error) {
    const issue = { path: ['services', service, 'description'], text: whyUnreadable(path, error) };
    throw new YamlFileError(file.describe([issue]), { cause: error });
  }
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new YamlFileError([whyUnreadable(path, error)], { cause: error });
  }
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
  return Object.keys(path.length === 0 ? servicesFileSchema.shape : serviceFileSchema.shape);
}

/** What two services must not share: with one audience, a token of one is valid at the other. */
function sharedValues(services: ServicesFile['services']): YamlIssue[] {
  const owners = new Map<string, string>();
  return Object.entries(services).flatMap(([service, { audience = service, urls }]) =>
    [{ field: 'audience', value: audience }, ...urls.map((value) => ({ field: 'urls', value }))].flatMap(
      ({ field, value }) => {
        const owner = owners.get(`${field} ${value}`);
        owners.set(`${field} ${value}`, service);
        if (owner === undefined) return [];
        const text = `services.${service}.${field} has ${value}, ${owner === service ? 'twice' : `as ${owner} has`}`;
        return [{ path: ['services', service, field], text }];
      },
    ),
  );
}
