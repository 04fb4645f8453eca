import { z } from 'zod';
import { targets } from '../../control/targets.ts';
import { maxTokenRequests } from './access/console-access.ts';
import { apiErrorSchema } from './api-error.ts';
import type { Route, RouteDescription } from './route.ts';

const info = {
  title: "Operators' API of the gateway",
  version: '1.0.0',
  description: `For programs, such as a billing system, and for the console. It is on the admin port.

A program sends \`Authorization: Bearer TOKEN\`, with a token of \`ops api-tokens issue\`. Each operation names the scope that it
needs; a scope to write permits to read as well. Operations that name none are closed to tokens. A token has
${maxTokenRequests} requests a minute at each gateway.

The console uses a session instead: \`ops console\` prints a link with a code that begins one; every other call needs the
session's cookie. A change needs two headers as well: \`Origin\`, with the address of the console itself, and
\`X-CSRF-Token\`, with the token that \`GET /api/session\` returns. A viewer's session may only read.

\`X-Change-Reason\`, percent-encoded UTF-8 of at most 100 characters, says why something is changed; the audit log has it.
`,
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Chosen by the client, for this request alone. A repetition within a day gets the first response, with ' +
    '`Idempotency-Replayed: true`, and makes nothing more. With another body it gets 422, and 409 while the first is under way.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
};

type Json = { [name: string]: unknown };

/** Refusals of requests with a token. */
const tokenRefusals = [
  ['401', 'Unauthorized', 'No valid token, and no session. `WWW-Authenticate` is `Bearer`.'],
  ['403', 'Forbidden', 'The token lacks the scope that the message names, or the session is a viewer’s'],
  [
    '429',
    'TooManyRequests',
    'Too many requests of the token, or wrong tokens. `Retry-After` has the seconds to wait.',
  ],
] as const;
const tokenResponses = Object.fromEntries(
  tokenRefusals.map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
);

/** What of a route the document needs. */
type DescribedRoute = Pick<Route, 'method' | 'path' | 'operation' | 'scope' | 'isCreate'>;

/** Builds the OpenAPI document of the operators' API from the schemas of its routes. */
export function describeApi(routes: readonly DescribedRoute[]): object {
  const schemas = createSchemas(routes);
  const paths = Map.groupBy(routes, ({ path }) => `/api${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  return {
    openapi: '3.1.0',
    info,
    paths: Object.fromEntries(
      Array.from(paths)
        .toSorted(([one], [other]) => one.localeCompare(other, 'en'))
        .map(([path, ofPath]) => [path, { ...parametersOf(path), ...operationsOf(ofPath, schemas.of) }]),
    ),
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'console-session',
          description: 'The name ends with the port if the console is reached without ADMIN_URL.',
        },
        token: { type: 'http', scheme: 'bearer', description: 'A token of `ops api-tokens issue`.' },
      },
      schemas: schemas.components,
      responses: Object.fromEntries(
        [['', 'Error', 'A refusal'] as const, ...tokenRefusals].map(([, name, text]) => [
          name,
          response(text, schemas.of(apiErrorSchema)),
        ]),
      ),
      parameters: { IdempotencyKey: idempotencyKey },
    },
  };
}

/** What a path names. */
function parametersOf(path: string): Json {
  const parameters = Array.from(path.matchAll(/\{(\w+)\}/g)).flatMap(([, name = '']) => {
    const target = targets[name];
    if (target === undefined) return [];
    const schema = { type: 'string', pattern: target.pattern.source, examples: [target.example] };
    return { name, in: 'path', required: true, schema };
  });
  return parameters.length === 0 ? {} : { parameters };
}

function operationsOf(routes: readonly DescribedRoute[], schemaOf: (schema: z.ZodType) => Json): Json {
  return Object.fromEntries(
    routes.map(({ method, operation, scope, isCreate }) => {
      const {
        operationId,
        summary,
        description,
        access,
        input,
        status = operation.result ? 200 : 204,
      } = operation;
      const schema = input && schemaOf(input);
      return [
        method,
        {
          operationId,
          summary,
          ...(description === undefined ? {} : { description }),
          security:
            access === 'open' ? [] : [...(scope === undefined ? [] : [{ token: [scope] }]), { session: [] }],
          ...(isCreate ? { parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }] } : {}),
          ...(schema === undefined ? {} : method === 'get' ? parameters(schema) : body(schema, operation)),
          responses: {
            [status]: success(operation, schemaOf),
            ...(scope === undefined ? {} : tokenResponses),
            default: { $ref: '#/components/responses/Error' },
          },
        },
      ];
    }),
  );
}

function parameters({ properties, required }: Json): Json {
  const needed = z.array(z.string()).catch([]).parse(required);
  const fields = Object.entries(z.record(z.string(), jsonObject).parse(properties));
  return { parameters: fields.map(([name, field]) => queryParameter(name, field, needed.includes(name))) };
}

function queryParameter(name: string, { description, ...schema }: Json, required: boolean): Json {
  const text = description === undefined ? {} : { description };
  return { name, in: 'query', ...(required ? { required } : {}), ...text, schema };
}

function body(schema: Json, { example }: RouteDescription): Json {
  return {
    requestBody: {
      required: true,
      content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
    },
  };
}

function success(operation: RouteDescription, schemaOf: (schema: z.ZodType) => Json): Json {
  const { responds, streamed, result } = operation;
  if (streamed === 'text/csv')
    return { description: responds, content: { [streamed]: { schema: { type: 'string' } } } };
  return result === undefined ? { description: responds } : response(responds, schemaOf(result));
}

function response(description: string, schema: Json): Json {
  return { description, content: { 'application/json': { schema } } };
}

const componentPath = '#/components/schemas/';
const jsonObject = z.record(z.string(), z.unknown());

/** JSON Schemas of all that the routes take and return, by reference, but for queries. */
function createSchemas(routes: readonly DescribedRoute[]): { of(schema: z.ZodType): Json; components: Json } {
  const names = new Map<z.ZodType, string>([[apiErrorSchema, 'Error']]);
  const add = (schema: z.ZodType, name: string) => names.set(schema, names.get(schema) ?? name);
  for (const { method, operation } of routes) {
    const { operationId, input, result } = operation;
    const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    if (input !== undefined) add(input, method === 'get' ? '' : `${name}Request`);
    if (result !== undefined && operation.streamed !== 'text/csv') add(result, `${name}Response`);
  }
  const all = Array.from(names.keys());
  const root = z.object(Object.fromEntries(all.map((schema, index) => [String(index), schema])));
  const text = JSON.stringify(z.toJSONSchema(root, { io: 'input' })).replaceAll('#/$defs/', componentPath);
  const { properties, $defs } = z
    .object({ properties: z.record(z.string(), jsonObject), $defs: jsonObject })
    .parse(JSON.parse(text, (_name, value: unknown) => compact(value)));
  const references = new Map<z.ZodType, Json>();
  for (const [index, schema] of all.entries()) {
    const json = properties[String(index)] ?? {};
    const name = names.get(schema) ?? '';
    const isInline = name === '' || Object.hasOwn(json, '$ref');
    if (!isInline) $defs[name] = json;
    references.set(schema, isInline ? json : { $ref: `${componentPath}${name}` });
  }
  return {
    of: (schema) => references.get(schema) ?? {},
    components: Object.fromEntries(
      Object.entries($defs).toSorted(([one], [other]) => one.localeCompare(other, 'en')),
    ),
  };
}

/** Leaves out what says nothing to a reader, and writes a schema or null as one schema. */
function compact(value: unknown): unknown {
  const parsed = jsonObject.safeParse(value);
  if (!parsed.success || Array.isArray(value)) return value;
  const schema = parsed.data;
  if (schema['format'] === 'date-time' || schema['format'] === 'date') delete schema['pattern'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['additionalProperties'] !== undefined) delete schema['propertyNames'];
  const alternatives = z
    .tuple([jsonObject, z.object({ type: z.literal('null') })])
    .safeParse(schema['anyOf']);
  if (!alternatives.success) return schema;
  const { anyOf: _both, ...rest } = schema;
  const [{ type, enum: values, ...only }] = alternatives.data;
  if (typeof type !== 'string') return schema;
  const orNull = Array.isArray(values) ? { enum: [...values, null] } : {};
  return { type: [type, 'null'], ...only, ...orNull, ...rest };
}
