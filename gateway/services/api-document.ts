import { z } from 'zod';

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
export type Content = z.infer<typeof contentShape>;
export type Parameter = z.infer<typeof parameterShape> & {
  /** Values that are allowed, if the description lists them. */
  choices: string[] | undefined;
};
export type ApiResponse = z.infer<typeof responseShape>;

export interface Operation extends Omit<
  z.infer<typeof operationShape>,
  'parameters' | 'requestBody' | 'responses'
> {
  /** Name of the method in capitals. */
  method: string;
  /** Path with the base path: /v1/pets/{petId}. */
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

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * Reads an OpenAPI document. HEAD and OPTIONS are left out: they exist on every path.
 * @param json the document
 * @param serverPath path of the server, which the paths of all operations begin with
 * @throws Error if the document is not valid
 */
export function readApiDocument(json: string, serverPath: string): ApiDocument {
  const root: unknown = JSON.parse(json);
  const { info, paths, components } = documentShape.parse(root);
  const operations = Object.entries(paths).flatMap(([path, item]) => {
    const shared = z.array(z.unknown()).default([]).parse(item['parameters']);
    return methods
      .filter((method) => item[method] !== undefined)
      .map((method) => readOperation(root, { method, path: serverPath + path, shared, value: item[method] }));
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

function readOperation(root: unknown, { method, path, shared, value }: OperationInput): Operation {
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
      response: readResponse(root, response),
    })),
  };
}

function readResponse(root: unknown, value: unknown): ApiResponse {
  const { headers, ...response } = z
    .looseObject({ headers: z.record(z.string(), z.unknown()).default({}) })
    .parse(resolve(root, value));
  const resolved = Object.entries(headers).map(([name, header]) => [name, resolve(root, header)]);
  return responseShape.parse({ ...response, headers: Object.fromEntries(resolved) });
}

function readParameter(root: unknown, value: unknown): Parameter {
  const parameter = parameterShape.parse(resolve(root, value));
  const choices = schemaShape.parse(resolve(root, parameter.schema)).enum;
  return { ...parameter, choices };
}

const referenceShape = z.object({ $ref: z.string().startsWith('#/') });

/** Follows a reference within the document (RFC 6901). @throws Error if there is nothing at its target */
function resolve(root: unknown, value: unknown): unknown {
  const reference = referenceShape.safeParse(value);
  if (!reference.success) return value;
  const { $ref } = reference.data;
  let target = root;
  for (const token of $ref.slice(2).split('/')) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    target = z.record(z.string(), z.unknown()).parse(target)[name];
  }
  if (target === undefined) throw new Error(`the API description has nothing at ${$ref}`);
  return resolve(root, target);
}
