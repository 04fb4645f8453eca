import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { parse } from 'yaml';

interface Operation {
  operationId: string;
  requestBody?: Body;
  responses: Record<string, Body>;
}

interface Body {
  $ref?: string;
  content?: Record<string, { schema: object; example?: unknown }>;
}

interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: Record<'responses' | 'requestBodies', Record<string, Body>> & {
    schemas: { Error: { properties: { code: { enum: string[] } } } };
  };
}

const path = new URL('../../../gateway/faces/api/openapi.yaml', import.meta.url);
/** The description of the operators' API. */
export const operatorsApiDocument = parse(readFileSync(path, 'utf8')) as OpenApiDocument;

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addFormat('date-time', (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(text));
ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/);
ajv.addSchema({ $id: 'openapi', components: operatorsApiDocument.components });
const validators = new Map<object, ValidateFunction>();

/** @returns what is wrong with a value; undefined if it matches the schema */
export function mismatch(schema: object, value: unknown): string | undefined {
  const validate =
    validators.get(schema) ??
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as object);
  validators.set(schema, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

export interface DescribedOperation extends Operation {
  method: string;
  path: string;
}

const methods = ['get', 'put', 'post', 'patch', 'delete'];

export const describedOperations: DescribedOperation[] = Object.entries(operatorsApiDocument.paths).flatMap(
  ([path, operations]) =>
    methods.flatMap((method) => {
      const operation = operations[method];
      return operation === undefined ? [] : [{ ...operation, method: method.toUpperCase(), path }];
    }),
);

/** @returns the content of a request or a response, which may be a reference */
export function jsonOf(
  kind: 'responses' | 'requestBodies',
  body: Body | undefined,
): { schema: object; example?: unknown } | undefined {
  const name = body?.$ref?.split('/').at(-1);
  const found = name === undefined ? body : operatorsApiDocument.components[kind][name];
  return found?.content?.['application/json'];
}

/** Literal paths come first in the document's order of paths, as in /api/bans/scan. */
function operationOf(method: string, url: string): DescribedOperation | undefined {
  const [asked = ''] = url.split('?');
  const candidates = describedOperations.filter((operation) => {
    const pattern = operation.path.replaceAll(/\{\w+\}/g, '[^/]+');
    return operation.method === method && new RegExp(`^${pattern}$`).test(asked);
  });
  return candidates.find((operation) => operation.path === asked) ?? candidates[0];
}

/** Fails if the description has this operation, and not this response of it. */
export function expectDescribed(method: string, url: string, status: number, body: unknown): void {
  const operation = operationOf(method, url);
  if (operation === undefined) return;
  const described =
    operation.responses[status] ?? (status >= 400 ? operation.responses['default'] : undefined);
  const content = jsonOf('responses', described);
  const what = `${operation.operationId} ${status}`;
  expect(described, `${what} is not described`).toBeDefined();
  if (content === undefined) expect(body, `${what} has a body`).toBeUndefined();
  else expect(mismatch(content.schema, body), `${what}: ${JSON.stringify(body)}`).toBeUndefined();
}
