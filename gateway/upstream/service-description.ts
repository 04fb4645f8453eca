import { z } from 'zod';
import { maxLimit } from '../limits/limits.ts';
import { scopePattern } from '../limits/record-fields.ts';
import type { DescriptionText } from '../platform/config/service-config.ts';
import { parseYamlFile, type YamlIssue } from '../platform/config/yaml-file.ts';

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
const part = z.record(z.string(), z.unknown(), mapping);

const outlineSchema = z.looseObject(
  {
    openapi: text.regex(/^3\.1\./, { error: 'is not 3.1: the gateway publishes OpenAPI 3.1' }),
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
  // A circle.
  if (depth > 32) return undefined;
  return resolveReference(document, findTarget(document, reference), depth + 1);
}

/** What a reference points at, which may be another one. */
export function findTarget(document: Fields, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let target: unknown = document;
  for (const token of reference.slice(2).split('/')) {
    const name = decodeToken(token);
    target = Array.isArray(target)
      ? target[Number(name)]
      : Object.hasOwn(fieldsOf(target), name)
        ? fieldsOf(target)[name]
        : undefined;
  }
  return target;
}

function decodeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

export const costField = 'x-quota-cost';

/** What an operation asks of a key. */
export interface OperationAccess {
  /** Scopes that the key needs, all of them. */
  scopes: readonly string[];
  /** Units that a request costs of each window. */
  cost: number;
}

const securityIssue =
  'has to be one entry with the scheme apiKey and the scopes that a key needs, such as [{ apiKey: [orders:read] }]';

/** What an operation of a valid description asks of a key: its scopes, or by default one of its service. */
export function accessOf(service: string, method: string, operation: Fields): OperationAccess {
  return {
    scopes: scopesOf(operation['security']) ?? [`${service}:${method === 'get' ? 'read' : 'write'}`],
    cost: unitsOf(operation[costField]) ?? 1,
  };
}

/** Whether the security of an operation is about keys of the gateway, and not only about direct callers of the service. */
export function isAboutScopes(security: unknown): boolean {
  return listOf(security).some((requirement) => 'apiKey' in fieldsOf(requirement));
}

/** Finds what is wrong with these fields of an operation: pairs of field and reason. */
export function accessIssues(operation: Fields): [field: string, reason: string][] {
  const issues: [string, string][] = [];
  if (operation['security'] !== undefined && scopesOf(operation['security']) === undefined)
    issues.push(['security', securityIssue]);
  if (operation[costField] !== undefined && unitsOf(operation[costField]) === undefined)
    issues.push([costField, `is no whole number from 1 to ${maxLimit}, the most that a plan can allow`]);
  return issues;
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
