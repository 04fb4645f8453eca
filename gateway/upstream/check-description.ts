import { defaultBasePath } from '../platform/config/config.ts';
import type { YamlIssue } from '../platform/config/yaml-file.ts';
import { isReservedInRequest } from './headers.ts';
import { basePathIssue, basePathPattern, isMatchable } from './routes.ts';
import {
  accessIssues,
  fieldsOf,
  isAboutScopes,
  isFields,
  listOf,
  mapFields,
  resolveReference,
  textOf,
  type Description,
  type Fields,
} from './service-description.ts';

/** Methods of a path that a service may have. */
export const methods = ['get', 'post', 'put', 'patch', 'delete'];

/**
 * The part of a description that is published: a service is described for those who call it directly, too. The gateway asks for
 * its own key, answers HEAD and OPTIONS, and passes neither cookies nor the headers that it sets itself.
 */
export function publishedPart(description: Description): Description {
  const { fields } = description;
  const { openapi, info, servers, tags, components: described } = fields;
  const { securitySchemes: _others, ...components } = fieldsOf(described);
  const passing = ({ parameters }: Fields) =>
    parameters === undefined ? {} : { parameters: listOf(parameters).filter(passes) };
  const passes = (parameter: unknown) => {
    const { in: place, name } = fieldsOf(resolveReference(fields, parameter));
    return place !== 'cookie' && !(place === 'header' && isReservedInRequest(textOf(name)));
  };
  const paths = mapFields(fieldsOf(fields['paths']), (value) => {
    const item = fieldsOf(value);
    const { summary, description: text } = item;
    const operations = methods.flatMap((method) => {
      const operation = item[method];
      if (!isFields(operation)) return operation === undefined ? [] : [[method, operation]];
      const { servers: _servers, callbacks: _callbacks, security, ...rest } = operation;
      return [[method, { ...rest, ...passing(rest), ...(isAboutScopes(security) && { security }) }]];
    });
    return { summary, description: text, ...passing(item), ...Object.fromEntries(operations) };
  });
  return { ...description, fields: { openapi, info, servers, tags, paths, components } };
}

/** Finds paths that no request can match, and scopes and costs that mean nothing. */
export function checkDescription({ fields }: Description): YamlIssue[] {
  const issues: YamlIssue[] = [];
  for (const [path, item] of Object.entries(fieldsOf(fields['paths']))) {
    if (!isMatchable(path))
      issues.push({ path: ['paths', path], text: `${path} is not a path such as /orders or /orders/{id}` });
    for (const method of methods)
      for (const [field, reason] of accessIssues(fieldsOf(fieldsOf(item)[method]))) {
        const text = `${field} of ${method.toUpperCase()} ${path} ${reason}`;
        issues.push({ path: ['paths', path, method, field], text });
      }
  }
  return issues;
}

/** The base path of the operations of a service, which the address of its first server gives. */
export function basePathOf({ outline }: Description): { basePath: string; issues: YamlIssue[] } {
  const [server] = outline.servers ?? [];
  if (server === undefined) return { basePath: defaultBasePath, issues: [] };
  const basePath = URL.parse(server.url, 'http://localhost')?.pathname.replace(/\/$/, '') ?? '';
  const issues = basePathPattern.test(basePath)
    ? []
    : [{ path: ['servers'], text: `servers has "${server.url}", whose path ${basePathIssue}` }];
  return { basePath, issues };
}

/** A description whose paths begin with a prefix. */
export function withPrefix(description: Description, prefix: string): Description {
  const { fields } = description;
  const paths = Object.entries(fieldsOf(fields['paths'])).map(([path, item]) => [prefix + path, item]);
  return { ...description, fields: { ...fields, paths: Object.fromEntries(paths) } };
}
