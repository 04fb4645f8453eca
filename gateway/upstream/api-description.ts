import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errorMessage } from '#runtime/error-message.ts';
import { defaultBasePath } from '../platform/config/config.ts';
import { keyPrefix } from '../platform/config/key-prefix.ts';
import {
  defaultMaxBodyBytes,
  type ApiConfig,
  type ServiceConfig,
} from '../platform/config/service-config.ts';
import { YamlFileError } from '../platform/config/yaml-file.ts';
import { codesOf, readApiDocument } from './api-document.ts';
import { isReservedInRequest } from './headers.ts';
import { mergeDescriptions } from './merge-descriptions.ts';
import { petsDescription, petsServiceName } from './pets-service.ts';
import {
  createMatch,
  operationOf,
  type ApiRoute,
  type OperationAccess,
  type RoutedOperation,
  type RoutedService,
} from './routes.ts';
import {
  accessOf,
  basePathOf,
  checkDescription,
  fieldsOf,
  isFields,
  listOf,
  mapFields,
  methods,
  parametersOf,
  publishedPart,
  readDescription,
  resolveReference,
  textOf,
  withPrefix,
  type Fields,
} from './service-description.ts';

declare global {
  interface JSON {
    /** ES2026, which TypeScript's libraries lack as yet. */
    rawJSON(text: string): unknown;
  }
}

export type ApiDescription = ReturnType<typeof loadApiDescription>;

type DescribedService = Pick<ServiceConfig, 'name' | 'description' | 'upgrade'> &
  Partial<Pick<ServiceConfig, 'paths' | 'maxBodyBytes'>>;

/** What the description says of the API as a whole. */
type PublishedApi = Partial<Pick<ApiConfig, 'title' | 'basePath' | 'keyHeader'>>;

/** Route of the OpenAPI document itself. It needs no key and costs no quota. */
const descriptionRoute: ApiRoute = { pattern: '/openapi.json', allow: ['GET', 'HEAD', 'OPTIONS'] };

/**
 * Describes the API of the services and of the gateway itself. Proxied are the described routes, and what is under the paths of a
 * service: there is no other list of routes.
 * @param supportUrl where clients find help: a page, or a `mailto:` URL. Without it, no address of a file is given to them.
 * @throws YamlFileError with what is wrong in a description, and where
 */
export function loadApiDescription(
  supportUrl?: string,
  services: readonly DescribedService[] = [{ name: petsServiceName, description: petsDescription() }],
  api: PublishedApi = {},
) {
  const { merged, basePath, basePaths, serverPath, routes } = mergeServices(services, api);
  const document = withContact(withKeyHeader(merged, api.keyHeader), supportUrl);
  const placeholder = randomUUID();
  const url = placeholder + serverPath;
  const servers = listOf(merged['servers']).map((server) => Object.assign({}, server, { url }));
  const parts = toJson({ ...document, servers }).split(placeholder);
  const jsonAt = (baseUrl: string) => parts.join(JSON.stringify(baseUrl).slice(1, -1));
  const json = jsonAt(serverPath === '' ? '/' : '');
  const shown = readShown(json, serverPath, supportUrl);
  const operations = routes.flatMap((route) =>
    route.allow.flatMap((method) =>
      method === 'HEAD' || method === 'OPTIONS'
        ? []
        : [{ route: route.pattern, method, access: operationOf(route.service, method) }],
    ),
  );
  const everything: ApiRoute = {
    pattern: '*',
    allow: [...new Set(routes.flatMap(({ allow }) => allow))],
  };
  return {
    /** The OpenAPI document as JSON text, with relative addresses. */
    json,
    /** What the documentation shows of it. */
    document: shown,
    /**
     * The same with the addresses of the servers under a base URL, such as https://api.example.com. Takes microseconds, since
     * clients choose the URL if PUBLIC_URL is not set.
     */
    jsonAt,
    /** Error codes that its document describes. */
    errorCodes: new Set(codesOf(shown)),
    /** Base path of the gateway's own operations, such as /v1. */
    basePath,
    /** That one, and those of the services. */
    basePaths,
    /** Names of the services, each at its ordinal. */
    services: services.map(({ name }) => name),
    /** Operations that clients are meant to call: neither HEAD nor OPTIONS. The gateway's own ask nothing of a key. */
    operations,
    /** All scopes that they need, and those that cost more than 1. */
    access: summarize(operations),
    /** The server as a whole, with the methods of all paths. */
    everything,
    /** Finds the route of a path without query. A key is asked for under the base paths alone, as they are spelled. */
    match: createMatch([...routes, descriptionRoute], basePaths),
  };
}

type Operations = readonly { route: string; method: string; access?: OperationAccess | undefined }[];

function summarize(operations: Operations) {
  const scopes = new Set(operations.flatMap(({ access }) => access?.scopes ?? []));
  const costs = operations.flatMap(({ route, method, access }) =>
    access === undefined || access.cost === 1
      ? []
      : [{ operation: `${method} ${route}`, units: access.cost, scopes: [...access.scopes] }],
  );
  return { scopes: [...scopes], costs };
}

type Owner = Pick<RoutedService, 'name' | 'ordinal' | 'upgrade'>;

/** Merges the descriptions, and finds the routes. */
function mergeServices(services: readonly DescribedService[], api: PublishedApi) {
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
  // Path of the server of the document: the base path if there is only one, or else empty.
  const serverPath = basePaths.length === 1 ? basePath : '';
  const prefixOf = (path: string) => (serverPath === '' ? path : '');
  const described = based.map(({ description, ...source }) => {
    const prefix = prefixOf(source.basePath);
    return { ...source, prefix, description: withPrefix(description, prefix) };
  });
  const own = withPrefix(
    readOwnDescription(basePaths, api.keyHeader, bodySize(services)),
    prefixOf(basePath),
  );
  const isNamed = based[0]?.description.outline.info.title !== undefined;
  const title = api.title ?? (isNamed ? undefined : titleOf(services[0]?.name));
  const merged = mergeDescriptions(own, described, title);
  const owners = new Map(
    described.flatMap(({ owner, description }) =>
      Object.keys(fieldsOf(description.fields['paths'])).map((path) => [path, owner] as const),
    ),
  );
  const routes = [...passing, ...describedRoutes(merged, owners, serverPath)];
  return { merged, basePath, basePaths, serverPath, routes };
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

/** Routes of the described paths; those without an owner are the gateway's. */
function describedRoutes(document: Fields, owners: ReadonlyMap<string, Owner>, serverPath: string) {
  return Object.entries(fieldsOf(document['paths'])).map(([path, value]): ApiRoute => {
    const item = fieldsOf(value);
    // Every path with GET has HEAD, too (RFC 9110 section 9.1), and every path has OPTIONS.
    const allow = methods
      .filter((method) => item[method] !== undefined)
      .flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
    const route: ApiRoute = { pattern: serverPath + path, allow: [...allow, 'OPTIONS'] };
    const owner = owners.get(path);
    if (owner === undefined) return route;
    const operations = Object.fromEntries(
      allow.map((name) => {
        const method = name === 'HEAD' ? 'get' : name.toLowerCase();
        const fields = fieldsOf(item[method]);
        const requestHeaders = headerParameters(document, parametersOf(item, fields));
        return [name, { requestHeaders, ...accessOf(owner.name, method, fields) }];
      }),
    );
    route.service = { ...owner, operations };
    return route;
  });
}

/** Names of parameters that are headers, in lower case. Wherever one is described, none that the gateway sets passes. */
function headerParameters(document: Fields, parameters: readonly unknown[]): ReadonlySet<string> {
  const headers = parameters
    .map((parameter) => fieldsOf(resolveReference(document, parameter)))
    .filter((parameter) => parameter['in'] === 'header')
    .map(({ name }) => textOf(name).toLowerCase());
  return new Set(headers.filter((name) => !isReservedInRequest(name)));
}

/** The largest body in words, if it is the same for all services. */
function bodySize(services: readonly DescribedService[]): string {
  const [bytes = defaultMaxBodyBytes, ...others] = new Set(services.map((service) => service.maxBodyBytes));
  if (others.length > 0) return 'the service accepts';
  return bytes === defaultMaxBodyBytes ? '1 MiB' : `${bytes} bytes`;
}

function readOwnDescription(basePaths: readonly string[], keyHeader: string | undefined, size: string) {
  const text = readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8')
    .replaceAll('{{basePaths}}', basePaths.map((path) => `\`${path}\``).join(', '))
    .replaceAll('{{keyPrefix}}', keyPrefix())
    .replaceAll('{{bodySize}}', size)
    .replaceAll(
      '{{keyHeader}}',
      keyHeader === undefined ? '' : ` The header \`${keyHeader}\` may hold it, too.`,
    );
  return readDescription({ file: 'openapi.yaml', text });
}

const titleOf = (service = 'the') => `${service.charAt(0).toUpperCase()}${service.slice(1)} API`;

function withContact(document: Fields, supportUrl: string | undefined): Fields {
  const info = fieldsOf(document['info']);
  const { name = `Support of the ${textOf(info['title'])}` } = fieldsOf(info['contact']);
  const { protocol, pathname } = (supportUrl && URL.parse(supportUrl)) || {};
  const email = protocol === 'mailto:' ? decodeURIComponent(pathname ?? '') : undefined;
  const contact = email === undefined ? { name, url: supportUrl } : { name, email };
  return { ...document, info: { ...info, contact } };
}

/** With the header that may hold the key as another way to meet each requirement. */
function withKeyHeader(document: Fields, name: string | undefined): Fields {
  if (name === undefined) return document;
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
function readShown(...read: Parameters<typeof readApiDocument>) {
  try {
    return readApiDocument(...read);
  } catch (error) {
    throw new YamlFileError([`the documentation cannot show the descriptions: ${errorMessage(error)}`], {
      cause: error,
    });
  }
}

/** JSON text, in which integers of any size are exact. */
const toJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part,
  );
