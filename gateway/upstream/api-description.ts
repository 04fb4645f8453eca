import { randomUUID } from 'node:crypto';
import { codesOf, type ApiDocument } from './api-document.ts';
import {
  describeServices,
  toJson,
  type DescribedService,
  type DescribedServices,
  type PublishedApi,
} from './describe-services.ts';
import { petsDescription, petsServiceName } from './pets-service.ts';
import { createMatch, operationOf, type ApiRoute } from './routes.ts';
import { fieldsOf, listOf, textOf, type OperationAccess } from './service-description.ts';

export interface ApiDescription extends Pick<DescribedServices, 'basePath' | 'basePaths'> {
  /** The OpenAPI document as JSON text, with relative addresses. */
  json: string;
  /** What the documentation shows of it. */
  document: ApiDocument;
  /**
   * The same with the addresses of the servers under a base URL, such as https://api.example.com. Takes microseconds, since
   * clients choose the URL if PUBLIC_URL is not set.
   */
  jsonAt(baseUrl: string): string;
  /** The server as a whole, with the methods of all paths. */
  everything: ApiRoute;
  /** Error codes that its document describes. */
  errorCodes: ReadonlySet<string>;
  /** Names of the services, each at its ordinal. */
  services: readonly string[];
  /** Operations that clients are meant to call: neither HEAD nor OPTIONS. The gateway's own ask nothing of a key. */
  operations: readonly { route: string; method: string; access?: OperationAccess | undefined }[];
  /** All scopes that they need, and those that cost more than 1. */
  access: { scopes: string[]; costs: { operation: string; units: number; scopes: string[] }[] };
  /** Finds the route of a path without query, as `createMatch` does. */
  match(path: string): ApiRoute | undefined;
}

/** Route of the OpenAPI document itself. It needs no key and costs no quota. */
const descriptionRoute: ApiRoute = { pattern: '/openapi.json', allow: ['GET', 'HEAD', 'OPTIONS'] };

/**
 * Describes the API of the services and of the gateway itself. Proxied are the described routes, and what is under the paths of a
 * service: there is no other list of routes.
 * @param supportUrl where clients find help: a page, or a `mailto:` URL. Without it, no address of a file is given to them.
 */
export function loadApiDescription(
  supportUrl?: string,
  services: readonly DescribedService[] = [{ name: petsServiceName, description: petsDescription() }],
  published: PublishedApi = {},
): ApiDescription {
  const described = describeServices(services, published);
  const { document: merged, shown, basePath, basePaths, serverPath, routes } = described;
  const info = fieldsOf(merged['info']);
  const { name = `Support of the ${textOf(info['title'])}` } = fieldsOf(info['contact']);
  const document = { ...merged, info: { ...info, contact: { name, ...addressOf(supportUrl) } } };
  const json = toJson(document);
  const placeholder = randomUUID();
  const servers = listOf(merged['servers']).map((server) =>
    Object.assign({}, server, { url: placeholder + serverPath }),
  );
  const parts = toJson({ ...document, servers }).split(placeholder);
  const operations = routes.flatMap((route) =>
    route.allow.flatMap((method) =>
      method === 'HEAD' || method === 'OPTIONS'
        ? []
        : [{ route: route.pattern, method, access: operationOf(route.service, method) }],
    ),
  );
  return {
    json,
    document: { ...shown, supportUrl },
    jsonAt: (baseUrl) => parts.join(JSON.stringify(baseUrl).slice(1, -1)),
    errorCodes: new Set(codesOf(shown)),
    basePath,
    basePaths,
    services: services.map(({ name }) => name),
    operations,
    access: summarize(operations),
    everything: { pattern: '*', allow: [...new Set(routes.flatMap(({ allow }) => allow))] },
    // A key is asked for under these alone, as they are spelled.
    match: createMatch<ApiRoute>([...routes, descriptionRoute], basePaths),
  };
}

function summarize(operations: ApiDescription['operations']): ApiDescription['access'] {
  const scopes = new Set(operations.flatMap(({ access }) => access?.scopes ?? []));
  const costs = operations.flatMap(({ route, method, access }) =>
    access === undefined || access.cost === 1
      ? []
      : [{ operation: `${method} ${route}`, units: access.cost, scopes: [...access.scopes] }],
  );
  return { scopes: [...scopes], costs };
}

function addressOf(supportUrl: string | undefined): { url?: string; email?: string } {
  if (supportUrl === undefined) return {};
  const { protocol, pathname } = new URL(supportUrl);
  return protocol === 'mailto:' ? { email: decodeURIComponent(pathname) } : { url: supportUrl };
}
