import { expect } from 'vitest';
import { createMismatch } from '../support/checks/openapi-schema.ts';
import type { ClientResponse } from '../support/http/http.ts';

interface HeaderObject {
  $ref?: string;
  required?: boolean;
  schema?: { type?: string };
}

interface ResponseObject {
  $ref?: string;
  headers?: Record<string, HeaderObject>;
  content?: Record<string, { schema: { $ref: string } }>;
}

interface OperationObject {
  operationId: string;
  responses: Record<string, ResponseObject>;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, OperationObject>>;
  components: {
    responses: Record<string, ResponseObject>;
    headers: Record<string, HeaderObject>;
    schemas: object;
  };
}

/** Headers that every response of a deprecated operation may have. */
const headersOfDeprecated = new Set(['Deprecation', 'Sunset', 'SuccessorLink', 'Link']);

interface ObjectSchema {
  type?: string;
}

/**
 * The schemas with no other fields than those that they name. Clients must ignore fields that they do not know, so the
 * document itself allows any; but what the services send is documented.
 */
function closed(schemas: object): object {
  return Object.fromEntries(
    Object.entries(schemas as Record<string, ObjectSchema>).map(([name, schema]) => [
      name,
      schema.type === 'object' ? { ...schema, additionalProperties: false } : schema,
    ]),
  );
}

/** The error codes that the document lists. Any other is valid, too: codes may be added. */
export function knownErrorCodes(document: OpenApiDocument): string[] {
  const { ErrorCode } = document.components.schemas as { ErrorCode: { anyOf: { enum?: string[] }[] } };
  return ErrorCode.anyOf.flatMap((alternative) => alternative.enum ?? []);
}

/** Checks responses against the OpenAPI document, and records which documented responses have been seen. */
export function createContract(document: OpenApiDocument) {
  const { components } = document;
  const mismatch = createMismatch({ ...components, schemas: closed(components.schemas) });
  const errorCodes = knownErrorCodes(document);
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const seen = new Set<string>();
  const linkTargets = new Set<string>();

  function resolve<T extends { $ref?: string }>(object: T, named: Record<string, T>): T {
    if (object.$ref === undefined) return object;
    const target = named[object.$ref.split('/').at(-1) ?? ''];
    if (target === undefined) throw new Error(`${object.$ref} does not exist`);
    return target;
  }

  return {
    /** Targets in the Link headers of all responses that were checked. */
    linkTargets,
    /** Fails unless the document describes this response of the operation. */
    check(operationId: string, received: Pick<ClientResponse, 'status' | 'header' | 'text'>): void {
      const operation = operations.find((candidate) => candidate.operationId === operationId);
      const documented = operation?.responses[received.status];
      if (documented === undefined)
        throw new Error(`${operationId} does not document ${received.status}: ${received.text}`);
      const response = resolve(documented, components.responses);
      for (const [, target = ''] of (received.header('Link') ?? '').matchAll(/<([^<>]*)>/g))
        linkTargets.add(target);
      for (const [name, reference] of Object.entries(response.headers ?? {})) {
        const header = resolve(reference, components.headers);
        const value = received.header(name);
        if (value === undefined) {
          expect(header.required ?? false, `${operationId} ${received.status} lacks ${name}`).toBe(false);
          continue;
        }
        const schema = header.schema ?? {};
        const parsed = schema.type === 'integer' ? Number(value) : value;
        expect(mismatch(schema, parsed), `${name}: ${value}`).toBeUndefined();
      }
      for (const name of Object.keys(components.headers)) {
        if (headersOfDeprecated.has(name) || response.headers?.[name] !== undefined) continue;
        expect(
          received.header(name),
          `${operationId} ${received.status}: ${name} is not documented`,
        ).toBeUndefined();
      }
      const content = response.content?.['application/json'];
      if (content === undefined) {
        expect(received.text).toBe('');
      } else {
        expect(received.header('Content-Type')).toBe('application/json; charset=utf-8');
        const body: unknown = JSON.parse(received.text);
        expect(mismatch(content.schema, body), received.text).toBeUndefined();
        if (received.status >= 400) {
          expect(body).toMatchObject({ status: received.status });
          expect(errorCodes).toContain((body as { code: string }).code);
        }
      }
      seen.add(`${operationId} ${received.status}`);
    },
    /** Documented responses that have not been checked. */
    unseen(): string[] {
      return operations
        .flatMap(({ operationId, responses }) =>
          Object.keys(responses).map((status) => `${operationId} ${status}`),
        )
        .filter((response) => !seen.has(response));
    },
  };
}
