import { defaultBasePath } from '../platform/config/config.ts';
import type { YamlIssue } from '../platform/config/yaml-file.ts';
import { isReservedInRequest, words } from './headers.ts';
import { whyUnmatchable } from './routes.ts';
import {
  accessIssues,
  costField,
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

/** Fields of an operation (OpenAPI 3.1, section 4.8.10.1) that are published; `servers` and `callbacks` are not. */
const operationFields = new Set(
  words(
    'tags summary description externalDocs operationId parameters requestBody responses deprecated security',
  ),
);
/** Extensions that mean something to the gateway begin so: another one is misspelt. */
const ownExtension = /^x-(?:quota|error)/;

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

/** Finds what of the published part of a description cannot be served, or not as it is meant. */
export function checkDescription({ fields }: Description): YamlIssue[] {
  const issues: YamlIssue[] = [];
  for (const [path, value] of Object.entries(fieldsOf(fields['paths']))) {
    const place = ['paths', path];
    const present = Object.entries(fieldsOf(value)).filter(([method]) => methods.includes(method));
    const unmatchable = whyUnmatchable(path);
    if (unmatchable !== undefined) issues.push({ path: place, text: `${path} ${unmatchable}` });
    if (present.length === 0)
      issues.push({ path: place, text: `${path} has no operation: it needs one of ${methods.join(', ')}` });
    for (const [method, operation] of present) {
      const name = `${method.toUpperCase()} ${path}`;
      if (!isFields(operation)) issues.push({ path: [...place, method], text: `${name} is not a mapping` });
      for (const [field, text] of operationIssues(fieldsOf(operation), name))
        issues.push({ path: [...place, method, field], text });
    }
  }
  return issues;
}

function operationIssues(operation: Fields, name: string): [field: string, text: string][] {
  const { operationId = 'none', summary = '' } = operation;
  const issues: [string, string][] = [
    ...Object.keys(operation)
      .filter((field) => !isKnownField(field))
      .map((field): [string, string] => [field, `${field} of ${name} is not known`]),
    ...accessIssues(operation).map(([field, reason]): [string, string] => [
      field,
      `${field} of ${name} ${reason}`,
    ]),
  ];
  if (!/^[A-Za-z][\w.-]{0,99}$/.test(textOf(operationId)))
    issues.push(['operationId', `${name} has no operationId of letters, digits and _.-`]);
  if (typeof summary !== 'string') issues.push(['summary', `the summary of ${name} is not a text`]);
  return issues;
}

function isKnownField(field: string): boolean {
  return (
    operationFields.has(field) || field === costField || (field.startsWith('x-') && !ownExtension.test(field))
  );
}

/** Says why operations cannot be under a path; undefined if they can. */
export function whyNoBasePath(path: string): string | undefined {
  const segments = path.split('/').slice(1);
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(path) || segments.some((each) => each === '.' || each === '..'))
    return 'is not a base path such as /v1 or /orders/v2';
  if (segments[0] === 'portal') return 'is where the portal of the gateway is: take another path';
  return ['docs', 'openapi.json'].includes(segments[0] ?? '')
    ? 'is where the documentation of the gateway is: take another path'
    : undefined;
}

/** Finds the base path of the operations of a service, which the address of its server gives. */
export function basePathOf({ outline }: Description): { basePath: string; issues: YamlIssue[] } {
  const path = ['servers'];
  const servers = (outline.servers ?? []).map(({ url }) => {
    const pathname = URL.parse(url, 'http://localhost')?.pathname.replace(/\/$/, '') ?? '';
    return { url, basePath: pathname, reason: whyNoBasePath(pathname) };
  });
  const [first = { url: '', basePath: defaultBasePath }] = servers;
  const other = servers.find(({ basePath }) => basePath !== first.basePath);
  const issues = servers.flatMap(({ url, reason }) =>
    reason === undefined ? [] : [{ path, text: `servers has "${url}", whose path ${reason}` }],
  );
  if (other !== undefined) {
    const text = `servers has "${first.url}" and "${other.url}": a service has one base path`;
    issues.push({ path, text });
  }
  return { basePath: first.basePath, issues };
}

/** A description whose paths begin with a prefix, and whose issues still have their places in the file. */
export function withPrefix(description: Description, prefix: string): Description {
  if (prefix === '') return description;
  const { fields, describe } = description;
  const paths = Object.entries(fieldsOf(fields['paths'])).map(([path, item]) => [prefix + path, item]);
  return {
    ...description,
    fields: { ...fields, paths: Object.fromEntries(paths) },
    describe: (issues) =>
      describe(
        issues.map((issue) => {
          const [section, path, ...rest] = issue.path;
          if (section !== 'paths' || path === undefined) return issue;
          return { ...issue, path: [section, String(path).slice(prefix.length), ...rest] };
        }),
      ),
  };
}
