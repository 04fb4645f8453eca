import { schemaChanges, type Direction, type Schema } from './schema-changes.ts';

interface Reference {
  $ref?: string;
}

interface Parameter extends Reference {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

interface Header extends Reference {
  required?: boolean;
  schema: Schema;
}

type Content = Record<string, { schema: Schema }>;

interface Response extends Reference {
  headers?: Record<string, Header>;
  content?: Content;
}

interface Operation {
  operationId?: string;
  deprecated?: boolean;
  'x-sunset'?: string;
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: Reference & { required?: boolean; content: Content };
  responses: Record<string, Response>;
}

export interface Description {
  servers: { url: string }[];
  security?: unknown[];
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes?: unknown } & Record<string, unknown>;
}

const yearMs = 365 * 86_400_000;

/**
 * Finds what breaks clients of the released description: gateway/CLIENTS.md, "Compatibility".
 * @param now for the sunset of deprecated operations, which may be removed afterwards
 * @returns a line each
 */
export function breakingChanges(released: Description, current: Description, now: Date): string[] {
  const compare = { released, current, now };
  return [
    ...differences('base path', released.servers[0]?.url, current.servers[0]?.url),
    ...differences(
      'security schemes',
      released.components.securitySchemes,
      current.components.securitySchemes,
    ),
    ...Object.entries(released.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, was]) => {
        const name = `${method.toUpperCase()} ${path}`;
        // Every path that exists has OPTIONS, described or not; tools take a description for something to offer.
        if (method === 'options' && current.paths[path] !== undefined) return [];
        const is = current.paths[path]?.[method];
        if (is !== undefined) return operationChanges(name, was, is, compare);
        const removable = was.deprecated === true && Date.parse(was['x-sunset'] ?? '') <= now.getTime();
        return removable ? [] : [`${name}: is removed`];
      }),
    ),
  ];
}

interface Compare {
  released: Description;
  current: Description;
  now: Date;
}

function operationChanges(name: string, was: Operation, is: Operation, compare: Compare): string[] {
  const { released, current } = compare;
  return [
    ...differences(`${name}: operationId`, was.operationId, is.operationId),
    ...differences(`${name}: security`, was.security ?? released.security, is.security ?? current.security),
    ...deprecationChanges(name, was, is, compare.now),
    ...parameterChanges(name, was, is, compare),
    ...requestBodyChanges(name, was, is, compare),
    ...responseChanges(name, was, is, compare),
  ];
}

/** An operation is deprecated at least a year ahead, and its end is not brought forward. */
function deprecationChanges(name: string, was: Operation, is: Operation, now: Date): string[] {
  if (is.deprecated !== true) return [];
  const sunset = Date.parse(is['x-sunset'] ?? '');
  if (Number.isNaN(sunset)) return [`${name}: is deprecated without the date x-sunset`];
  if (was.deprecated !== true) {
    return sunset >= now.getTime() + yearMs ? [] : [`${name}: x-sunset is less than a year ahead`];
  }
  return sunset >= Date.parse(was['x-sunset'] ?? '') ? [] : [`${name}: x-sunset is brought forward`];
}

function parameterChanges(name: string, was: Operation, is: Operation, compare: Compare): string[] {
  const key = (parameter: Parameter) => `${parameter.in} ${parameter.name}`;
  const before = (was.parameters ?? []).map((parameter) => resolve(compare.released, parameter));
  const after = (is.parameters ?? []).map((parameter) => resolve(compare.current, parameter));
  const removedOrChanged = before.flatMap((parameter) => {
    const path = `${name} ${key(parameter)}`;
    const now = after.find((candidate) => key(candidate) === key(parameter));
    if (now === undefined) return [`${path}: is removed`];
    const required = now.required === true && parameter.required !== true ? [`${path}: is now required`] : [];
    return [...required, ...compareSchemas(parameter.schema, now.schema, path, 'request', compare)];
  });
  const required = after.filter(
    (parameter) =>
      parameter.required === true && !before.some((candidate) => key(candidate) === key(parameter)),
  );
  return [
    ...removedOrChanged,
    ...required.map((parameter) => `${name} ${key(parameter)}: is new and required`),
  ];
}

function requestBodyChanges(name: string, was: Operation, is: Operation, compare: Compare): string[] {
  const before = was.requestBody && resolve(compare.released, was.requestBody);
  const after = is.requestBody && resolve(compare.current, is.requestBody);
  const path = `${name} request body`;
  if (after?.required === true && before?.required !== true) return [`${path}: is now required`];
  if (before === undefined) return [];
  if (after === undefined) return [`${path}: is removed`];
  return contentChanges(path, before.content, after.content, 'request', compare);
}

function responseChanges(name: string, was: Operation, is: Operation, compare: Compare): string[] {
  const known = Object.entries(was.responses).flatMap(([status, response]) => {
    const path = `${name} ${status}`;
    const now = is.responses[status];
    // Whoever asks whether something has changed copes with getting all of it.
    if (now === undefined) return status === '304' ? [] : [`${path}: is removed`];
    const before = resolve(compare.released, response);
    const after = resolve(compare.current, now);
    return headerChanges(path, before, after, compare).concat(
      contentChanges(`${path} body`, before.content ?? {}, after.content ?? {}, 'response', compare),
    );
  });
  const added = Object.keys(is.responses).filter(
    (status) => status.startsWith('2') && was.responses[status] === undefined,
  );
  return [
    ...known,
    ...added.map((status) => `${name} ${status}: is a new success, which clients do not expect`),
  ];
}

function headerChanges(name: string, was: Response, is: Response, compare: Compare): string[] {
  return Object.entries(was.headers ?? {}).flatMap(([header, reference]) => {
    const path = `${name} header ${header}`;
    const found = is.headers?.[header];
    if (found === undefined) return [`${path}: is removed`];
    const before = resolve(compare.released, reference);
    const after = resolve(compare.current, found);
    const optional =
      before.required === true && after.required !== true ? [`${path}: is no longer required`] : [];
    return optional.concat(compareSchemas(before.schema, after.schema, path, 'response', compare));
  });
}

function contentChanges(
  path: string,
  was: Content,
  is: Content,
  direction: Direction,
  compare: Compare,
): string[] {
  return Object.entries(was).flatMap(([type, { schema }]) => {
    const now = is[type];
    if (now === undefined) return [`${path}: ${type} is removed`];
    return compareSchemas(schema, now.schema, path, direction, compare);
  });
}

function compareSchemas(
  was: Schema,
  is: Schema,
  path: string,
  direction: Direction,
  compare: Compare,
): string[] {
  return schemaChanges(was, is, path, {
    direction,
    resolveReleased: (schema) => resolve(compare.released, schema),
    resolveCurrent: (schema) => resolve(compare.current, schema),
  });
}

/** Follows a reference within the document. Keywords beside it add to what it refers to (OpenAPI 3.1). */
function resolve<T extends Reference>(document: Description, object: T): T {
  const { $ref, ...beside } = object;
  if ($ref === undefined) return object;
  let target: unknown = document;
  for (const part of $ref.replace(/^#\//, '').split('/')) {
    target = (target as Record<string, unknown> | undefined)?.[part];
  }
  if (target === undefined) throw new Error(`${$ref} does not exist`);
  return resolve(document, { ...(target as T), ...beside });
}

function differences(what: string, was: unknown, is: unknown): string[] {
  const [before, after] = [JSON.stringify(was), JSON.stringify(is)];
  return before === after ? [] : [`${what}: changes from ${before} to ${after}`];
}
