import { isDeepStrictEqual } from 'node:util';
import { YamlFileError, type YamlIssue } from '../platform/config/yaml-file.ts';
import { ownResponseHeaders } from './headers.ts';
import { overlap, parameterNames } from './routes.ts';
import {
  fieldsOf,
  isFields,
  listOf,
  mapFields,
  methods,
  parametersOf,
  resolveReference,
  textOf,
  type Description,
  type Fields,
} from './service-description.ts';

/** A service whose description is merged. */
interface Source {
  name: string;
  description: Description;
  /** What its paths begin with here, and not in the file. */
  prefix?: string;
  /** What is wrong with it that was found before. */
  issues: readonly YamlIssue[];
}

/** Responses that the gateway sends for any operation of a service. */
const ownResponses = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  408: 'RequestTimeout',
  413: 'PayloadTooLarge',
  417: 'ExpectationFailed',
  429: 'TooManyRequests',
  431: 'HeadersTooLarge',
  500: 'InternalError',
  502: 'BadGateway',
  503: 'Unavailable',
  504: 'GatewayTimeout',
};
/** The same for one that the gateway carries out itself. */
const { 403: _forbidden, 502: _badGateway, 504: _gatewayTimeout, ...responsesWithoutService } = ownResponses;

/**
 * Merges the descriptions of the services with the gateway's own, which comes last in each list. The gateway's responses
 * and headers are added to every operation, so that an author describes only what a service does.
 * @param title of the API, in place of that of the first service
 * @returns the published description, without what the gateway knows only when it runs
 * @throws YamlFileError with everything that contradicts the gateway, another service or itself
 */
export function mergeDescriptions(own: Description, sources: readonly Source[], title?: string): Fields {
  const claim = createClaims();
  claim({ name: 'the gateway', description: own, issues: [] });
  const issues = sources.flatMap((source) =>
    source.description.describe([...source.issues, ...claim(source)]),
  );
  if (issues.length > 0) throw new YamlFileError(issues);
  const all = [...sources.map(({ description }) => description), own];
  const codes = all.flatMap(({ outline }) => outline['x-error-codes'] ?? []);
  const components = withErrorCodes(mergeComponents(all), codes);
  const paths: Fields = Object.assign(
    {},
    ...sources.map(({ description }) => completePaths(description.fields, ownResponses)),
    completePaths(own.fields, responsesWithoutService),
  );
  return {
    openapi: own.fields['openapi'],
    info: mergeInfo(all, title),
    servers: own.fields['servers'],
    tags: mergeTags(all),
    security: own.fields['security'],
    paths,
    components,
  };
}

/** The first service gives title, version, contact and licence, and each one its text. */
function mergeInfo(descriptions: readonly Description[], given?: string): Fields {
  const [first] = descriptions;
  const texts = descriptions.flatMap(({ outline }) => outline.info.description?.trimEnd() ?? []);
  const { title = 'API', version = '1.0.0', description: _text, ...rest } = fieldsOf(first?.fields['info']);
  return { title: given ?? title, version, description: `${texts.join('\n\n')}\n`, ...rest };
}

function mergeTags(descriptions: readonly Description[]): unknown[] {
  const tags = descriptions.flatMap(({ fields }) => listOf(fields['tags']));
  const names = tags.map((tag) => fieldsOf(tag)['name']);
  return tags.filter((_tag, index) => names.indexOf(names[index]) === index);
}

/** Of equal names the first one is taken; {@link createClaims} finds those that differ. */
function mergeComponents(descriptions: readonly Description[]): Fields {
  const inOrder = descriptions.map(({ fields }) => fieldsOf(fields['components']));
  const sections = new Set(inOrder.flatMap((each) => Object.keys(each)));
  return Object.fromEntries(
    Array.from(sections, (section) => {
      const merged: Record<string, unknown> = {};
      for (const components of inOrder) {
        for (const [name, part] of Object.entries(fieldsOf(components[section]))) {
          if (!Object.hasOwn(merged, name))
            merged[name] = section === 'responses' ? withOwnHeaders(part) : part;
        }
      }
      return [section, merged];
    }),
  );
}

function withErrorCodes(components: Fields, added: readonly string[]): Fields {
  const schemas = fieldsOf(components['schemas']);
  const code = fieldsOf(schemas['ErrorCode']);
  const [first, ...others] = listOf(code['anyOf']);
  const values = [...new Set([...listOf(fieldsOf(first)['enum']), ...added])];
  const ErrorCode = { ...code, anyOf: [{ ...fieldsOf(first), enum: values }, ...others] };
  return { ...components, schemas: { ...schemas, ErrorCode } };
}

function completePaths(fields: Fields, added: Readonly<Record<number, string>>): Fields {
  return mapFields(fieldsOf(fields['paths']), (item, path) =>
    mapFields(fieldsOf(item), (operation, method) => {
      if (!methods.includes(method) || !isFields(operation)) return operation;
      const parameters = parametersOf(fieldsOf(item), operation).map((parameter) =>
        fieldsOf(resolveReference(fields, parameter)),
      );
      return completeOperation(nameOperation(operation, method, path, parameters), added);
    }),
  );
}

/** Adds what the documentation shows and a description may leave out. */
function nameOperation(operation: Fields, method: string, path: string, parameters: Fields[]): Fields {
  const undescribed = parameterNames(path)
    .filter((name) => parameters.every((each) => each['in'] !== 'path' || each['name'] !== name))
    .map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return {
    operationId: `${method}${path.replaceAll(/[^A-Za-z0-9]+/g, '-')}`,
    summary: `${method.toUpperCase()} ${path}`,
    ...operation,
    ...(undescribed.length > 0 && { parameters: [...listOf(operation['parameters']), ...undescribed] }),
  };
}

function completeOperation(operation: Fields, added: Readonly<Record<number, string>>): Fields {
  const { responses: described = { '2XX': {} } } = operation;
  const responses = mapFields(fieldsOf(described), withOwnHeaders);
  const missing = Object.entries(added)
    .filter(([status]) => !Object.hasOwn(responses, status))
    .map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]);
  // Statuses of three digits are in ascending order in any object.
  return { ...operation, responses: { ...responses, ...Object.fromEntries(missing) } };
}

function withOwnHeaders(response: unknown): unknown {
  if (!isFields(response) || response['$ref'] !== undefined) return response;
  const { description = '', headers, ...rest } = response;
  const added = ownResponseHeaders.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { description, headers: { ...fieldsOf(headers), ...Object.fromEntries(added) }, ...rest };
}

/** @returns a function that finds what a description has under a name or at a path that an earlier one has */
function createClaims() {
  const paths = new Map<string, string>();
  const ids = new Map<unknown, string>();
  const components = new Map<string, { part: unknown; owner: string }>();
  return function claim({ name, description: { fields }, prefix = '' }: Source): YamlIssue[] {
    const issues: YamlIssue[] = [];
    const refuse = (path: string[], text: string) => issues.push({ path, text });
    for (const [path, item] of Object.entries(fieldsOf(fields['paths']))) {
      const place = ['paths', path.slice(prefix.length)];
      for (const [other, owner] of paths) {
        if (owner === name || !overlap(path, other)) continue;
        const isSame = path === other;
        refuse(
          place,
          isSame ? `${path} is a path of ${owner}, too` : `${path} overlaps ${other} of ${owner}`,
        );
      }
      paths.set(path, name);
      for (const method of methods) {
        const { operationId: id } = fieldsOf(fieldsOf(item)[method]);
        const owner = ids.get(id) ?? name;
        if (owner !== name)
          refuse([...place, method], `the operationId ${textOf(id)} is one of ${owner}, too`);
        if (id !== undefined) ids.set(id, name);
      }
    }
    for (const [section, parts] of Object.entries(fieldsOf(fields['components']))) {
      for (const [partName, part] of Object.entries(fieldsOf(parts))) {
        const key = `components.${section}.${partName}`;
        const other = components.get(key);
        if (other === undefined) components.set(key, { part, owner: name });
        else if (!isDeepStrictEqual(part, other.part)) {
          const advice = 'rename it, or leave it out to use that one';
          refuse(['components', section, partName], `${key} is not the one of ${other.owner}: ${advice}`);
        }
      }
    }
    return issues;
  };
}
