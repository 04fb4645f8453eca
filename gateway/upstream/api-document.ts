import { z } from 'zod';
import {
  fieldsOf,
  methods,
  parametersOf,
  referenceOf,
  resolveReference,
  textOf,
  type Fields,
} from './service-description.ts';

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

const headerShape = z.object({ description: z.string().optional(), schema: schemaShape.default({}) });

export type Schema = z.infer<typeof schemaShape>;
type OperationShape = z.infer<ReturnType<typeof operationShapeOf>>;
export type Parameter = OperationShape['parameters'][number];

export interface Operation extends OperationShape {
  /** Name of the method in capitals. */
  method: string;
  /** Path with the base path: /v1/orders/{id}. */
  path: string;
}

export interface ApiDocument {
  title: string;
  version: string;
  description: string;
  /** Where clients find help: a page, or a `mailto:` URL. */
  supportUrl?: string | undefined;
  operations: Operation[];
  schemas: { name: string; schema: Schema }[];
}

/**
 * Reads an OpenAPI document. HEAD and OPTIONS are left out: they exist on every path.
 * @param json the document
 * @param serverPath path of the server, which the paths of all operations begin with
 * @throws Error if the document is not valid
 */
export function readApiDocument(json: string, serverPath: string, supportUrl?: string): ApiDocument {
  const root = fieldsOf(JSON.parse(json));
  const { title, version, description } = fieldsOf(root['info']);
  const operationShape = operationShapeOf(root);
  const operations = Object.entries(fieldsOf(root['paths'])).flatMap(([path, value]) => {
    const item = fieldsOf(value);
    return methods.flatMap((method) => {
      if (item[method] === undefined) return [];
      const fields = fieldsOf(item[method]);
      const operation = operationShape.parse({ ...fields, parameters: parametersOf(item, fields) });
      return [{ ...operation, method: method.toUpperCase(), path: serverPath + path }];
    });
  });
  const shapes = z.record(z.string(), schemaShape).parse(fieldsOf(root['components'])['schemas'] ?? {});
  const schemas = Object.entries(shapes).map(([name, schema]) => ({ name, schema }));
  const texts = { title: textOf(title), version: textOf(version), description: textOf(description) };
  return { ...texts, supportUrl, operations, schemas };
}

/** An operation whose parts may be references into the document. */
function operationShapeOf(root: Fields) {
  const response = z.object({
    description: z.string().default(''),
    headers: z.record(z.string(), resolved(root, headerShape)).default({}),
    content: contentShape.default({}),
  });
  const parameter = z
    .object({
      name: z.string(),
      in: z.enum(['query', 'header', 'path', 'cookie']),
      description: z.string().optional(),
      required: z.boolean().default(false),
      schema: schemaShape.default({}),
      example: textShape.optional(),
      examples: z.record(z.string(), z.object({ value: textShape })).optional(),
    })
    .transform((fields) => {
      /** Values that are allowed, if the description lists them. */
      const choices = schemaShape.parse(resolve(root, fields.schema)).enum;
      return { ...fields, choices };
    });
  const body = z.object({ content: contentShape }).transform(({ content }) => content);
  return z.object({
    operationId: z.string(),
    summary: z.string(),
    description: z.string().default(''),
    deprecated: z.boolean().default(false),
    tags: z.array(z.string()).default([]),
    parameters: z.array(resolved(root, parameter)),
    requestBody: resolved(root, body).optional(),
    responses: z
      .record(z.string(), resolved(root, response))
      .transform((responses) =>
        Object.entries(responses).map(([status, each]) => ({ status, response: each })),
      ),
  });
}

/** A part or a reference to one. Each target is read once: every operation has a dozen responses of the gateway's. */
function resolved<Shape extends z.ZodType>(root: Fields, shape: Shape) {
  const shared = new Map<string | undefined, z.output<Shape>>();
  return z.unknown().transform((value): z.output<Shape> => {
    const reference = referenceOf(value);
    const part = shared.get(reference) ?? shape.parse(resolve(root, value));
    if (reference !== undefined) shared.set(reference, part);
    return part;
  });
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
