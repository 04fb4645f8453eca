import { readFileSync } from 'node:fs';
import { errorMessage } from '#runtime/error-message.ts';
import type { ServiceConfig } from '../config/service-config.ts';
import { YamlFileError } from '../config/yaml-file.ts';
import { readApiDocument } from './api-document.ts';
import { methods } from './check-description.ts';
import { mergeDescriptions } from './merge-descriptions.ts';
import { accessOf, trialCostField } from './operation-access.ts';
import type { ApiRoute, RoutedOperation, RoutePath } from './routes.ts';
import { fieldsOf, readDescription, resolveReference, textOf, type Fields } from './service-description.ts';
import { createOperationRules, parametersOf } from './what-passes.ts';

declare global {
  interface JSON {
    /** ES2026, which TypeScript's libraries lack as yet. */
    rawJSON(text: string): unknown;
  }
}

export interface DescribedServices {
  /** The published OpenAPI document. Its integers are BigInt. */
  document: Fields;
  /** Base path of all operations, such as /v1. */
  basePath: string;
  routes: readonly { path: RoutePath; route: ApiRoute }[];
}

/**
 * Merges the descriptions of services, and finds what passes of each operation.
 * @throws YamlFileError with what is wrong in a description, and where
 */
export function describeServices(
  services: readonly Pick<ServiceConfig, 'name' | 'description'>[],
): DescribedServices {
  const own = readDescription({
    file: 'openapi.yaml',
    text: readFileSync(new URL('../openapi.yaml', import.meta.url), 'utf8'),
  });
  const read = services.map(({ name, description }) => readOrIssue(name, description));
  const unreadable = read.flatMap(({ issues = [] }) => issues);
  if (unreadable.length > 0) throw new YamlFileError(unreadable);
  const sources = read.flatMap(({ source }) => source ?? []);
  const { document, basePath } = mergeDescriptions(own, sources);
  assertShown(document, basePath);
  const ownersOf = new Map(
    sources.flatMap(({ name, description }, ordinal) =>
      Object.keys(fieldsOf(description.fields['paths'])).map((path) => [path, { name, ordinal }] as const),
    ),
  );
  const routes = Object.entries(fieldsOf(document['paths'])).map(([path, value]) => {
    const item = fieldsOf(value);
    const owner = ownersOf.get(path);
    const route: ApiRoute = { pattern: basePath + path, allow: allowedMethods(Object.keys(item)) };
    if (owner !== undefined)
      route.service = { ...owner, operations: operationsOf(document, item, owner.name) };
    return { path: { pattern: route.pattern, numbers: numbersOf(document, item) }, route };
  });
  return { document, basePath, routes };
}

function readOrIssue(name: string, description: ServiceConfig['description']) {
  try {
    return { source: { name, description: readDescription(description) } };
  } catch (error) {
    if (!(error instanceof YamlFileError)) throw error;
    return { issues: error.issues };
  }
}

/** @throws YamlFileError if the documentation could not show the document */
function assertShown(document: Fields, basePath: string): void {
  try {
    readApiDocument(toJson(document), basePath);
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
    const rules = createOperationRules(document, parametersOf(item, fields), fields);
    const operation = { ...rules, ...accessOf(service, method, fields) };
    return [[method.toUpperCase(), operation] as const].concat(method === 'get' ? [['HEAD', operation]] : []);
  });
  return Object.fromEntries(operations);
}

/** Names of path parameters that are numbers in all operations of a path. */
function numbersOf(document: Fields, item: Fields): ReadonlySet<string> {
  const [numbers, others] = [new Set<string>(), new Set<string>()];
  for (const method of methods.filter((each) => item[each] !== undefined)) {
    for (const parameter of parametersOf(item, fieldsOf(item[method]))) {
      const { in: kind, name, schema } = fieldsOf(resolveReference(document, parameter));
      const { type } = fieldsOf(resolveReference(document, schema));
      if (kind === 'path')
        (['integer', 'number'].includes(textOf(type)) ? numbers : others).add(textOf(name));
    }
  }
  return numbers.difference(others);
}

/** JSON text, in which integers of any size are exact. Costs on trial are the operators' own. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => {
    if (key === trialCostField) return undefined;
    return typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part;
  });
}
