import { readFileSync } from 'node:fs';
import { errorMessage } from '#runtime/error-message.ts';
import { defaultBasePath } from '../platform/config/config.ts';
import { keyPrefix } from '../platform/config/key-prefix.ts';
import type { ApiConfig, ServiceConfig } from '../platform/config/service-config.ts';
import { YamlFileError } from '../platform/config/yaml-file.ts';
import { readApiDocument, type ApiDocument } from './api-document.ts';
import { basePathOf, checkDescription, methods, publishedPart, withPrefix } from './check-description.ts';
import { isReservedInRequest } from './headers.ts';
import { mergeDescriptions } from './merge-descriptions.ts';
import type { ApiRoute, RoutedOperation, RoutedService } from './routes.ts';
import {
  accessOf,
  fieldsOf,
  isFields,
  listOf,
  mapFields,
  parametersOf,
  readDescription,
  resolveReference,
  textOf,
  type Description,
  type Fields,
} from './service-description.ts';

declare global {
  interface JSON {
    /** ES2026, which TypeScript's libraries lack as yet. */
    rawJSON(text: string): unknown;
  }
}

/** What the description says of the API as a whole. */
export type PublishedApi = Partial<Pick<ApiConfig, 'title' | 'basePath' | 'keyHeader'>>;

export interface DescribedServices {
  /** The published OpenAPI document. Its integers are BigInt. */
  document: Fields;
  /** What the documentation shows of it. */
  shown: ApiDocument;
  /** Base path of the gateway's own operations, such as /v1. */
  basePath: string;
  /** That one, and those of the services. */
  basePaths: readonly string[];
  /** Path of the server of the document: the base path if there is only one, or else empty. */
  serverPath: string;
  routes: readonly ApiRoute[];
}

export type DescribedService = Pick<ServiceConfig, 'name' | 'description'> & {
  paths?: readonly string[] | undefined;
  upgrade?: boolean | undefined;
};

type Owner = Pick<RoutedService, 'name' | 'ordinal' | 'upgrade'>;

/**
 * Merges the descriptions of services, and finds the routes of their operations.
 * @throws YamlFileError with what is wrong in a description, and where
 */
export function describeServices(
  services: readonly DescribedService[],
  api: PublishedApi = {},
): DescribedServices {
  const based = services.flatMap(({ name, description: text }, ordinal) => {
    if (text === undefined) return [];
    const description = publishedPart(readDescription(text));
    const { basePath, issues } = basePathOf(description);
    const owner: Owner = { name, ordinal };
    return [{ name, owner, description, basePath, issues: [...issues, ...checkDescription(description)] }];
  });
  const passing = services.flatMap(({ name, paths = [], upgrade }, ordinal) =>
    paths.map((under) => passingRoute({ name, ordinal, upgrade }, under)),
  );
  const underPaths = passing.map(({ under }) => under);
  const basePath = api.basePath ?? based[0]?.basePath ?? underPaths[0] ?? defaultBasePath;
  const basePaths = [...new Set([basePath, ...based.map((each) => each.basePath), ...underPaths])];
  const serverPath = basePaths.length === 1 ? basePath : '';
  const prefixOf = (path: string) => (serverPath === '' ? path : '');
  const described = based.map(({ description, ...source }) => {
    const prefix = prefixOf(source.basePath);
    return { ...source, prefix, description: withPrefix(description, prefix) };
  });
  const own = withPrefix(readOwnDescription(basePaths, api.keyHeader), prefixOf(basePath));
  const isNamed = based[0]?.description.outline.info.title !== undefined;
  const title = api.title ?? (isNamed ? undefined : titleOf(services[0]?.name));
  const document = publish(mergeDescriptions(own, described), { title, serverPath });
  const shown = readShown(document, serverPath);
  const ownersOf = new Map(
    described.flatMap(({ owner, description }) =>
      Object.keys(fieldsOf(description.fields['paths'])).map((path) => [path, owner] as const),
    ),
  );
  const routes = Object.entries(fieldsOf(document['paths'])).map(([path, value]) => {
    const item = fieldsOf(value);
    const owner = ownersOf.get(path);
    const route: ApiRoute = { pattern: serverPath + path, allow: allowedMethods(Object.keys(item)) };
    if (owner !== undefined)
      route.service = { ...owner, operations: operationsOf(document, item, owner.name) };
    return route;
  });
  const published = api.keyHeader === undefined ? document : withKeyHeader(document, api.keyHeader);
  return { document: published, shown, basePath, basePaths, serverPath, routes: [...passing, ...routes] };
}

/** Methods that OPTIONS names for a path under which any method passes. */
const commonMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

function passingRoute(owner: Owner, under: string): ApiRoute & { under: string } {
  const operation = (method: string): RoutedOperation => ({
    requestHeaders: 'all',
    ...accessOf(owner.name, method, {}),
  });
  const read = operation('get');
  const service = { ...owner, operations: { GET: read, HEAD: read }, others: operation('post') };
  return { pattern: `${under}/*`, under, allow: commonMethods, service };
}

const titleOf = (service = 'the') => `${service.charAt(0).toUpperCase()}${service.slice(1)} API`;

function readOwnDescription(basePaths: readonly string[], keyHeader: string | undefined): Description {
  const text = readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8')
    .replaceAll('{{basePaths}}', basePaths.map((path) => `\`${path}\``).join(', '))
    .replaceAll('{{keyPrefix}}', keyPrefix())
    .replaceAll(
      '{{keyHeader}}',
      keyHeader === undefined ? '' : ` The header \`${keyHeader}\` may hold it, too.`,
    );
  return readDescription({ file: 'openapi.yaml', text });
}

function publish(
  document: Fields,
  { title, serverPath }: { title: string | undefined; serverPath: string },
): Fields {
  const info = fieldsOf(document['info']);
  const servers = listOf(document['servers']).map((server) =>
    Object.assign({}, server, { url: serverPath === '' ? '/' : serverPath }),
  );
  return { ...document, info: title === undefined ? info : { ...info, title }, servers };
}

/** With the header that may hold the key as another way to meet each requirement. */
function withKeyHeader(document: Fields, name: string): Fields {
  const components = fieldsOf(document['components']);
  const keyHeader = { type: 'apiKey', in: 'header', name, description: 'The same API key, alone.' };
  return {
    ...orByHeader(document),
    paths: mapFields(fieldsOf(document['paths']), (item) =>
      mapFields(fieldsOf(item), (part) => (isFields(part) ? orByHeader(part) : part)),
    ),
    components: {
      ...components,
      securitySchemes: { ...fieldsOf(components['securitySchemes']), keyHeader },
    },
  };
}

function orByHeader(fields: Fields): Fields {
  if (fields['security'] === undefined) return fields;
  const security = listOf(fields['security']).flatMap((requirement) => [
    requirement,
    { keyHeader: fieldsOf(requirement)['apiKey'] },
  ]);
  return { ...fields, security };
}

/** @throws YamlFileError if the documentation could not show the document */
function readShown(document: Fields, serverPath: string): ApiDocument {
  try {
    return readApiDocument(toJson(document), serverPath);
  } catch (error) {
    throw new YamlFileError([`the documentation cannot show the descriptions: ${errorMessage(error)}`], {
      cause: error,
    });
  }
}

/** Every path with GET has HEAD, too (RFC 9110 section 9.1), and every path has OPTIONS. */
function allowedMethods(fields: readonly string[]): string[] {
  return [
    ...methods
      .filter((method) => fields.includes(method))
      .flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])),
    'OPTIONS',
  ];
}

function operationsOf(document: Fields, item: Fields, service: string): Record<string, RoutedOperation> {
  const operations = methods.flatMap((method) => {
    if (item[method] === undefined) return [];
    const fields = fieldsOf(item[method]);
    const requestHeaders = headerParameters(document, parametersOf(item, fields));
    const operation = { requestHeaders, ...accessOf(service, method, fields) };
    return [[method.toUpperCase(), operation] as const].concat(method === 'get' ? [['HEAD', operation]] : []);
  });
  return Object.fromEntries(operations);
}

/** Names of parameters that are headers, in lower case. Wherever one is described, none that the gateway sets passes. */
function headerParameters(document: Fields, parameters: readonly unknown[]): ReadonlySet<string> {
  const headers = parameters
    .map((parameter) => fieldsOf(resolveReference(document, parameter)))
    .filter((parameter) => parameter['in'] === 'header')
    .map(({ name }) => textOf(name).toLowerCase());
  return new Set(headers.filter((name) => !isReservedInRequest(name)));
}

/** JSON text, in which integers of any size are exact. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part,
  );
}
