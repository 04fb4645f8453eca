import { z } from 'zod';
import { methods } from './check-description.ts';
import { fieldsOf, referenceOf, resolveReference, type Fields } from './service-description.ts';

/*
 * The parts of an OpenAPI 3.1 document that the reference shows. References are resolved when a part is read, so that a
 * schema keeps its name.
 */

/** A value as text: a string itself, anything else as JSON. */
const textShape = z
  .unknown()
  .transform((value) => (typeof value === 'string' ? value : JSON.stringify(value)));

const schemaShape = z.object({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(textShape).optional(),
  default: textShape.optional(),
  example: textShape.optional(),
  examples: z.array(textShape).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  maxItems: z.number().optional(),
  pattern: z.string().optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), schemaShape).optional();
  },
  get items() {
    return schemaShape.optional();
  },
  get anyOf() {
    return z.array(schemaShape).optional();
  },
  get allOf() {
    return z.array(schemaShape).optional();
  },
});

const contentShape = z.record(
  z.string(),
  z.object({
    schema: schemaShape.optional(),
    example: z.unknown().optional(),
    examples: z.record(z.string(), z.object({ value: z.unknown() })).optional(),
  }),
);

const parameterShape = z.object({
  name: z.string(),
  in: z.enum(['query', 'header', 'path', 'cookie']),
  description: z.string().optional(),
  required: z.boolean().default(false),
  schema: schemaShape.default({}),
  example: textShape.optional(),
  examples: z.record(z.string(), z.object({ value: textShape })).optional(),
});

const headerShape = z.object({ description: z.string().optional(), schema: schemaShape.default({}) });

const responseShape = z.object({
  description: z.string().default(''),
  headers: z.record(z.string(), headerShape).default({}),
  content: contentShape.default({}),
});

const unresolvedResponseShape = z.looseObject({ headers: z.record(z.string(), z.unknown()).default({}) });

const sharedParametersShape = z.array(z.unknown()).default([]);

const operationShape = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().default(''),
  deprecated: z.boolean().default(false),
  tags: z.array(z.string()).default([]),
  parameters: z.array(z.unknown()).default([]),
  requestBody: z.unknown().optional(),
  responses: z.record(z.string(), z.unknown()),
});

const requestBodyShape = z.object({ content: contentShape });

const documentShape = z.object({
  info: z.object({
    title: z.string(),
    version: z.string(),
    description: z.string().default(''),
    contact: z.object({ url: z.string().optional(), email: z.string().optional() }).optional(),
  }),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z
    .looseObject({ schemas: z.record(z.string(), schemaShape).default({}) })
    .default({ schemas: {} }),
});

export type Schema = z.infer<typeof schemaShape>;
type Content = z.infer<typeof contentShape>;
export type Parameter = z.infer<typeof parameterShape> & {
  /** Values that are allowed, if the description lists them. */
  choices: string[] | undefined;
};
type ApiResponse = z.infer<typeof responseShape>;

export interface Operation extends Omit<
  z.infer<typeof operationShape>,
  'parameters' | 'requestBody' | 'responses'
> {
  /** Name of the method in capitals. */
  method: string;
  /** Path with the base path: /v1/orders/{id}. */
  path: string;
  parameters: Parameter[];
  requestBody: Content | undefined;
  responses: { status: string; response: ApiResponse }[];
}

export interface ApiDocument {
  title: string;
  version: string;
  description: string;
  /** Where clients find help: a page, or a `mailto:` URL. */
  supportUrl: string | undefined;
  operations: Operation[];
  schemas: { name: string; schema: Schema }[];
}

/**
 * Reads an OpenAPI document. HEAD and OPTIONS are left out: they exist on every path.
 * @param json the document
 * @param serverPath path of the server, which the paths of all operations begin with
 * @throws Error if the document is not valid
 */
export function readApiDocument(json: string, serverPath: string): ApiDocument {
  const root = fieldsOf(JSON.parse(json));
  const { info, paths, components } = documentShape.parse(root);
  const readResponse = createReadResponse(root);
  const operations = Object.entries(paths).flatMap(([path, item]) => {
    const shared = sharedParametersShape.parse(item['parameters']);
    return methods
      .filter((method) => item[method] !== undefined)
      .map((method) =>
        readOperation(root, readResponse, { method, path: serverPath + path, shared, value: item[method] }),
      );
  });
  const schemas = Object.entries(components.schemas).map(([name, schema]) => ({ name, schema }));
  const { contact, ...texts } = info;
  const supportUrl = contact?.url ?? (contact?.email && `mailto:${contact.email}`);
  return { ...texts, supportUrl, operations, schemas };
}

interface OperationInput {
  method: string;
  path: string;
  /** Parameters of all operations of the path. */
  shared: unknown[];
  value: unknown;
}

function readOperation(
  root: Fields,
  readResponse: (value: unknown) => ApiResponse,
  { method, path, shared, value }: OperationInput,
): Operation {
  const { parameters, requestBody, responses, ...operation } = operationShape.parse(value);
  return {
    ...operation,
    method: method.toUpperCase(),
    path,
    parameters: [...shared, ...parameters].map((parameter) => readParameter(root, parameter)),
    requestBody:
      requestBody === undefined ? undefined : requestBodyShape.parse(resolve(root, requestBody)).content,
    responses: Object.entries(responses).map(([status, response]) => ({
      status,
      response: readResponse(response),
    })),
  };
}

/** Reads each response that operations share once: every operation has a dozen of the gateway's. */
function createReadResponse(root: Fields): (value: unknown) => ApiResponse {
  const shared = new Map<string, ApiResponse>();
  return function readResponse(value) {
    const reference = referenceOf(value);
    const known = reference === undefined ? undefined : shared.get(reference);
    if (known !== undefined) return known;
    const { headers, ...fields } = unresolvedResponseShape.parse(resolve(root, value));
    const resolved = Object.entries(headers).map(([name, header]) => [name, resolve(root, header)]);
    const response = responseShape.parse({ ...fields, headers: Object.fromEntries(resolved) });
    if (reference !== undefined) shared.set(reference, response);
    return response;
  };
}

function readParameter(root: Fields, value: unknown): Parameter {
  const parameter = parameterShape.parse(resolve(root, value));
  const choices = schemaShape.parse(resolve(root, parameter.schema)).enum;
  return { ...parameter, choices };
}

/** @throws Error if there is nothing at the reference */
function resolve(root: Fields, value: unknown): unknown {
  const target = resolveReference(root, value);
  if (target === undefined) throw new Error(`the API description has nothing at ${referenceOf(value)}`);
  return target;
}

/** Error codes of the gateway and of the services. */
export function codesOf({ schemas }: ApiDocument): string[] {
  const { schema } = schemas.find(({ name }) => name === 'ErrorCode') ?? {};
  return schema?.anyOf?.flatMap((part) => part.enum ?? []) ?? [];
}
