import { z } from 'zod';
import { maxLimit } from '../limits/limits.ts';
import { scopePattern } from '../limits/record-fields.ts';
import { defaultBasePath } from '../platform/config/config.ts';
import type { DescriptionText } from '../platform/config/service-config.ts';
import { parseYamlFile, type YamlIssue } from '../platform/config/yaml-file.ts';
import { isReservedInRequest } from './headers.ts';
import { basePathIssue, basePathPattern, isMatchable, type OperationAccess } from './routes.ts';

/** A part of a description: an object of JSON, whose integers are BigInt. */
export type Fields = Readonly<Record<string, unknown>>;

/** An OpenAPI document whose outline is valid. */
export interface Description {
  /** Its fields in the order of the file. */
  fields: Fields;
  /** The same, typed; zod changes the order. */
  outline: z.infer<typeof outlineSchema>;
  /** Describes issues with their places in the file. */
  describe: (issues: readonly YamlIssue[]) => string[];
}

/** Larger than any description of an API that people read. */
const maxBytes = 4 * 1024 * 1024;

const text = z.string({ error: 'is not a text' });
const mapping = { error: 'is not a mapping' };
const version = { error: 'is not 3.1: the gateway publishes OpenAPI 3.1, as in openapi: 3.1.1' };
const part = z.record(z.string(), z.unknown(), mapping);

const outlineSchema = z.looseObject(
  {
    openapi: z.string(version).regex(/^3\.1\./, version),
    info: z
      .looseObject(
        {
          title: text.optional(),
          version: text.optional(),
          description: text.optional(),
          contact: z.looseObject({ name: text.optional() }, mapping).optional(),
        },
        mapping,
      )
      .default({}),
    servers: z.array(z.looseObject({ url: text })).optional(),
    tags: z.array(z.looseObject({ name: text })).optional(),
    paths: z.record(z.string(), part, mapping),
    components: z.record(z.string(), part, mapping).optional(),
    'x-error-codes': z
      .array(
        text.regex(/^[a-z][a-z0-9_]{0,63}$/, { error: 'is not a code of lower-case letters, digits and _' }),
      )
      .optional(),
  },
  mapping,
);

/** @throws YamlFileError that names the line of what is invalid */
export function readDescription({ file, text: source }: DescriptionText): Description {
  const options = { maxBytes, intAsBigInt: true };
  const { value, parsed, describe } = parseYamlFile(Buffer.from(source), file, outlineSchema, options);
  return { fields: fieldsOf(value), outline: parsed, describe };
}

/** Methods of a path that a service may have. */
export const methods = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * The part of a description that is published: a service is described for those who call it directly, too. The gateway asks for
 * its own key, answers HEAD and OPTIONS, and passes neither cookies nor the headers that it sets itself.
 */
export function publishedPart(description: Description): Description {
  const { fields } = description;
  const { openapi, info, servers, tags, components: described } = fields;
  const { securitySchemes: _others, ...components } = fieldsOf(described);
  const passing = ({ parameters }: Fields) =>
    parameters === undefined ? {} : { parameters: listOf(parameters).filter(passes) };
  const passes = (parameter: unknown) => {
    const { in: place, name } = fieldsOf(resolveReference(fields, parameter));
    return place !== 'cookie' && !(place === 'header' && isReservedInRequest(textOf(name)));
  };
  const paths = mapFields(fieldsOf(fields['paths']), (value) => {
    const item = fieldsOf(value);
    const { summary, description: text } = item;
    const operations = methods.flatMap((method) => {
      const operation = item[method];
      if (!isFields(operation)) return operation === undefined ? [] : [[method, operation]];
      const { servers: _servers, callbacks: _callbacks, security, ...rest } = operation;
      return [[method, { ...rest, ...passing(rest), ...(isAboutScopes(security) && { security }) }]];
    });
    return { summary, description: text, ...passing(item), ...Object.fromEntries(operations) };
  });
  return { ...description, fields: { openapi, info, servers, tags, paths, components } };
}

/** Whether the security of an operation is about keys of the gateway, and not only about direct callers of the service. */
function isAboutScopes(security: unknown): boolean {
  return listOf(security).some((requirement) => 'apiKey' in fieldsOf(requirement));
}

/** Finds paths that no request can match, and scopes and costs that mean nothing. */
export function checkDescription({ fields }: Description): YamlIssue[] {
  const issues: YamlIssue[] = [];
  for (const [path, item] of Object.entries(fieldsOf(fields['paths']))) {
    if (!isMatchable(path))
      issues.push({ path: ['paths', path], text: `${path} is not a path such as /orders or /orders/{id}` });
    for (const method of methods) {
      const { security, [costField]: cost } = fieldsOf(fieldsOf(item)[method]);
      const refuse = (field: string, reason: string) => {
        const text = `${field} of ${method.toUpperCase()} ${path} ${reason}`;
        issues.push({ path: ['paths', path, method, field], text });
      };
      if (security !== undefined && scopesOf(security) === undefined) refuse('security', securityIssue);
      if (cost !== undefined && unitsOf(cost) === undefined) refuse(costField, costIssue);
    }
  }
  return issues;
}

/** The base path of the operations of a service, which the address of its first server gives. */
export function basePathOf({ outline }: Description): { basePath: string; issues: YamlIssue[] } {
  const [server] = outline.servers ?? [];
  if (server === undefined) return { basePath: defaultBasePath, issues: [] };
  const basePath = URL.parse(server.url, 'http://localhost')?.pathname.replace(/\/$/, '') ?? '';
  const issues = basePathPattern.test(basePath)
    ? []
    : [{ path: ['servers'], text: `servers has "${server.url}", whose path ${basePathIssue}` }];
  return { basePath, issues };
}

/** A description whose paths begin with a prefix. */
export function withPrefix(description: Description, prefix: string): Description {
  const { fields } = description;
  const paths = Object.entries(fieldsOf(fields['paths'])).map(([path, item]) => [prefix + path, item]);
  return { ...description, fields: { ...fields, paths: Object.fromEntries(paths) } };
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of an object; none of anything else. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function mapFields(fields: Fields, map: (value: unknown, name: string) => unknown): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value, name)]));
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text; an empty one for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** All parameters of an operation; its own come after those of its path. */
export function parametersOf(pathItem: Fields, operation: Fields): readonly unknown[] {
  return [...listOf(pathItem['parameters']), ...listOf(operation['parameters'])];
}

/** Target of a reference, such as `#/components/schemas/Order`. */
export function referenceOf(value: unknown): string | undefined {
  const { $ref } = fieldsOf(value);
  return typeof $ref === 'string' ? $ref : undefined;
}

/** Follows a reference within a document (RFC 6901). @returns undefined if there is nothing at its target */
export function resolveReference(document: Fields, value: unknown, depth = 0): unknown {
  const reference = referenceOf(value);
  if (reference === undefined) return value;
  // Beyond 32 it is a circle.
  if (depth > 32 || !reference.startsWith('#/')) return undefined;
  let target: unknown = document;
  for (const token of reference.slice(2).split('/')) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(target)) target = target[Number(name)];
    else target = Object.hasOwn(fieldsOf(target), name) ? fieldsOf(target)[name] : undefined;
  }
  return resolveReference(document, target, depth + 1);
}

const costField = 'x-quota-cost';
const costIssue = `is no whole number from 1 to ${maxLimit}, the most that a plan can allow`;

const securityIssue =
  'has to be one entry with the scheme apiKey and the scopes that a key needs, such as [{ apiKey: [orders:read] }]';

/** What an operation of a valid description asks of a key: its scopes, or by default one of its service. */
export function accessOf(service: string, method: string, operation: Fields): OperationAccess {
  return {
    scopes: scopesOf(operation['security']) ?? [`${service}:${method === 'get' ? 'read' : 'write'}`],
    cost: unitsOf(operation[costField]) ?? 1,
  };
}

function scopesOf(security: unknown): string[] | undefined {
  if (!Array.isArray(security) || security.length !== 1) return undefined;
  const [requirement]: unknown[] = security;
  if (!isFields(requirement) || Object.keys(requirement).join() !== 'apiKey') return undefined;
  const { apiKey: scopes } = requirement;
  return Array.isArray(scopes) && scopes.every(isScope) ? scopes : undefined;
}

const isScope = (scope: unknown): scope is string => typeof scope === 'string' && scopePattern.test(scope);

/** Integers of a description are BigInt. */
function unitsOf(value: unknown): number | undefined {
  return typeof value === 'bigint' && value >= 1n && value <= BigInt(maxLimit) ? Number(value) : undefined;
}
