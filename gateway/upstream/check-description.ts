import type { YamlIssue } from '../platform/config/yaml-file.ts';
import { accessIssues, costField, isAboutScopes } from './operation-access.ts';
import { isReservedInRequest } from './reserved-headers.ts';
import { whyUnmatchable } from './routes.ts';
import {
  fieldsOf,
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
const operationFields = new Set([
  'tags',
  'summary',
  'description',
  'externalDocs',
  'operationId',
  'parameters',
  'requestBody',
  'responses',
  'deprecated',
  'security',
]);
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
