import { isReservedInResponse } from './reserved-headers.ts';
import { fieldsOf, listOf, resolveReference, textOf, type Fields } from './service-description.ts';

/** What passes the gateway of the requests and responses of an operation, as its description says. */
export interface OperationRules {
  /** Header parameters in lower case. */
  requestHeaders: ReadonlySet<string>;
  /** @returns undefined if a response with this status must not reach a client */
  responseRule(status: number): ResponseRule | undefined;
}

export interface ResponseRule {
  /** Described headers in lower case. */
  headers: ReadonlySet<string>;
  /**
   * Finds what the body has to be.
   * @param type value of Content-Type, or undefined without one
   * @returns undefined if the description does not have this type
   */
  bodyKind(type: string | undefined): BodyKind | undefined;
}

/** `json` is checked to be an object or an array; `none` has to be empty. */
export type BodyKind = 'json' | 'other' | 'none';

/** Statuses of responses without content, which have no Content-Length (RFC 9110 section 8.6). */
export const statusesWithoutContent: ReadonlySet<number> = new Set([204, 304]);

const jsonType = 'application/json';

/** @param document that the references of the operation point into */
export function createOperationRules(
  document: Fields,
  parameters: readonly unknown[],
  operation: Fields,
): OperationRules {
  const headers = parameters
    .map((parameter) => fieldsOf(resolveReference(document, parameter)))
    .filter((parameter) => parameter['in'] === 'header')
    .map(({ name }) => textOf(name).toLowerCase());
  const described = new Map(
    Object.entries(fieldsOf(operation['responses'])).map(([status, response]) => [
      status.toUpperCase(),
      describedRule(fieldsOf(resolveReference(document, response)), status),
    ]),
  );
  const rules = new Map<number, ResponseRule>();
  for (let status = 200; status <= 599; status += 1) {
    // They would blame the client for a token of the gateway's, whatever the gateway itself describes.
    if (status === 401 || status === 407) continue;
    const rule =
      described.get(String(status)) ??
      described.get(`${Math.floor(status / 100)}XX`) ??
      undescribedRule(status, described.get('DEFAULT'));
    if (rule !== undefined) rules.set(status, rule);
  }
  return { requestHeaders: new Set(headers), responseRule: (status) => rules.get(status) };
}

/**
 * A redirect that is not described is a response of something between the gateway and the service. Any other status passes
 * with the body that errors have.
 */
function undescribedRule(status: number, byDefault: ResponseRule | undefined): ResponseRule | undefined {
  if (status === 304) return createRule([jsonType], []);
  if (status >= 300 && status < 400) return undefined;
  return byDefault ?? createRule([jsonType], []);
}

function describedRule(response: Fields, status: string): ResponseRule {
  const types = Object.keys(fieldsOf(response['content'])).map((type) => type.toLowerCase());
  // Errors are JSON unless an operation has others.
  if (/^[45d]/i.test(status)) types.push(jsonType);
  const headers = Object.keys(fieldsOf(response['headers'])).filter((name) => !isReservedInResponse(name));
  return createRule(types, headers);
}

function createRule(types: readonly string[], headers: readonly string[]): ResponseRule {
  // Nearly all responses of an operation have the same type.
  let usualType: string | undefined;
  let usualKind: BodyKind | undefined;
  return {
    headers: new Set(headers.map((name) => name.toLowerCase())),
    bodyKind(type) {
      if (type === undefined) return types.length === 0 ? 'none' : undefined;
      if (type === usualType) return usualKind;
      const kind = kindOf(types, type);
      if (kind !== undefined) [usualType, usualKind] = [type, kind];
      return kind;
    },
  };
}

function kindOf(types: readonly string[], value: string): BodyKind | undefined {
  const [, type = ''] = /^([^ ;]+) *(?:;|$)/.exec(value.toLowerCase()) ?? [];
  const family = `${type.split('/')[0]}/*`;
  if (![type, family, '*/*'].some((each) => types.includes(each))) return undefined;
  return type === jsonType || type.endsWith('+json') ? 'json' : 'other';
}

/** All parameters of an operation; its own come after those of its path. */
export function parametersOf(pathItem: Fields, operation: Fields): readonly unknown[] {
  return [...listOf(pathItem['parameters']), ...listOf(operation['parameters'])];
}
