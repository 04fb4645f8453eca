import type { YamlIssue } from '../platform/config/yaml-file.ts';
import { accessIssues, costField } from './operation-access.ts';
import { isReservedInRequest, isReservedInResponse } from './reserved-headers.ts';
import { parameterNames, whyUnmatchable } from './routes.ts';
import {
  fieldsOf,
  isFields,
  parametersOf,
  resolveReference,
  textOf,
  type Description,
  type Fields,
} from './service-description.ts';

/** Methods of a path that a service may have. */
export const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Fields of a document that the published description has a place for. */
const documentFields = new Set(['openapi', 'info', 'servers', 'tags', 'paths', 'components']);
/** Fields of an operation (OpenAPI 3.1, section 4.8.10.1). */
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
  'servers',
  'callbacks',
]);
/** Extensions that mean something to the gateway begin so: another one is misspelt. */
const ownExtension = /^x-(?:quota|error)/;
const pathFields = new Set([...methods, 'parameters', 'summary', 'description']);
/** Fields that would contradict what the gateway does, with the reason. */
const refusedFields = new Map([
  ['security', 'is decided by the gateway, which asks for an API key: an operation may have its own scopes'],
  ['servers', 'is not supported here: an operation is where its service is'],
  ['callbacks', 'are not supported: no request leaves for a client'],
  ['head', 'follows get: leave it out'],
  ['options', 'is answered by the gateway: leave it out'],
  ['trace', 'is not supported'],
  ['$ref', 'is not supported for a path: write it out'],
]);

/** @param own the gateway's that may be there */
function isExtension(name: string, own: readonly string[]): boolean {
  return own.includes(name) || (name.startsWith('x-') && !ownExtension.test(name));
}

/**
 * Finds what of a service's description the gateway cannot publish or serve.
 * @param known the published description, which references may point into
 */
export function checkDescription({ fields }: Description, known: Fields): YamlIssue[] {
  const issues: YamlIssue[] = [];
  const report = (path: readonly string[], text: string) => issues.push({ path, text });

  for (const name of Object.keys(fields)) {
    if (documentFields.has(name) || isExtension(name, ['x-error-codes'])) continue;
    report([name], `${name} ${refusedFields.get(name) ?? 'is not known or not supported'}`);
  }
  if (fieldsOf(fields['components'])['securitySchemes'] !== undefined)
    report(['components', 'securitySchemes'], `securitySchemes ${refusedFields.get('security')}`);
  for (const [path, item] of Object.entries(fieldsOf(fields['paths']))) checkPath(path, fieldsOf(item));
  return issues;

  function checkPath(path: string, item: Fields): void {
    const place = ['paths', path];
    const reason = whyUnmatchable(path);
    if (reason !== undefined) report(place, `${path} ${reason}`);
    for (const name of Object.keys(item)) {
      if (pathFields.has(name) || name.startsWith('x-')) continue;
      report([...place, name], `${name} of ${path} ${refusedFields.get(name) ?? 'is not known'}`);
    }
    const present = methods.filter((method) => item[method] !== undefined);
    if (present.length === 0)
      report(place, `${path} has no operation: it needs one of ${methods.join(', ')}`);
    for (const method of present) checkOperation(path, method, item);
  }

  function checkOperation(path: string, method: string, item: Fields): void {
    const place = ['paths', path, method];
    const name = `${method.toUpperCase()} ${path}`;
    if (!isFields(item[method])) return void report(place, `${name} is not a mapping`);
    const operation = item[method];
    for (const field of Object.keys(operation)) {
      if (!operationFields.has(field) && !isExtension(field, [costField]))
        report([...place, field], `${field} of ${name} is not known`);
    }
    for (const [field, reason] of accessIssues(operation))
      report([...place, field], `${field} of ${name} ${reason}`);
    for (const field of ['servers', 'callbacks'])
      if (operation[field] !== undefined)
        report([...place, field], `${field} of ${name} ${refusedFields.get(field)}`);
    const { operationId = 'none', summary = '' } = operation;
    if (!/^[A-Za-z][\w.-]{0,99}$/.test(textOf(operationId)))
      report([...place, 'operationId'], `${name} has no operationId of letters, digits and _.-`);
    if (typeof summary !== 'string') report([...place, 'summary'], `the summary of ${name} is not a text`);
    if (method === 'get' && operation['requestBody'] !== undefined)
      report([...place, 'requestBody'], `requestBody of ${name} does not pass: a GET has no body`);
    checkParameters(path, name, [...place, 'parameters'], parametersOf(item, operation));
    const responses = Object.entries(fieldsOf(operation['responses']));
    for (const [status, response] of responses) {
      checkResponse(`${name} ${status}`, [...place, 'responses', status], status, response);
    }
  }

  function checkParameters(
    path: string,
    name: string,
    place: string[],
    parameters: readonly unknown[],
  ): void {
    const resolved = parameters.map((parameter) => fieldsOf(resolveReference(known, parameter)));
    for (const parameter of resolved) {
      const text = textOf(parameter['name']);
      const kind = parameter['in'];
      if (text === '' || !['path', 'query', 'header', 'cookie'].includes(textOf(kind)))
        report(place, `a parameter of ${name} has no name, or is not in path, query or header`);
      else if (kind === 'cookie')
        report(place, `the parameter ${text} of ${name} is a cookie, which does not pass`);
      else if (kind === 'header' && isReservedInRequest(text))
        report(
          place,
          `the parameter ${text} of ${name} is a header that does not pass, or that the gateway sets`,
        );
    }
    const described = resolved
      .filter((parameter) => parameter['in'] === 'path')
      .map((each) => textOf(each['name']));
    for (const parameter of described)
      if (!parameterNames(path).includes(parameter))
        report(place, `${name} has no {${parameter}} in its path`);
  }

  function checkResponse(name: string, place: string[], status: string, value: unknown): void {
    if (!/^(?:[2-5]\d\d|[2-5]XX|default)$/i.test(status))
      return void report(place, `${name} is no status from 200 to 599, nor 2XX to 5XX, nor default`);
    if (['401', '407'].includes(status))
      return void report(place, `${name} is the gateway's: a service gets requests with a valid key only`);
    const response = fieldsOf(resolveReference(known, value));
    const types = Object.keys(fieldsOf(response['content']));
    if (['204', '304'].includes(status) && types.length > 0)
      report(place, `${name} has content, which this status cannot have`);
    for (const type of types) {
      if (!/^(?:\*|[\w!#$&^.+-]+)\/(?:\*|[\w!#$&^.+-]+)$/.test(type))
        report(place, `${name} has the content type ${type}: give type/subtype alone, such as text/csv`);
    }
    // The gateway's own responses have its headers.
    for (const header of Object.keys(fieldsOf(fieldsOf(resolveReference(fields, value))['headers'])))
      if (isReservedInResponse(header))
        report(
          [...place, 'headers', header],
          `${name} has the header ${header}, which only the gateway sends`,
        );
  }
}
