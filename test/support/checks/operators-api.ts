import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { createMismatch } from './openapi-schema.ts';

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

export const mismatch = createMismatch(operatorsApiDocument.components);

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
