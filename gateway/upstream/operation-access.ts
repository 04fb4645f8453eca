import { maxLimit } from '../limits/limits.ts';
import { scopePattern } from '../limits/record-fields.ts';
import { isFields, listOf, type Fields } from './service-description.ts';

export const costField = 'x-quota-cost';

/** What an operation asks of a key. */
export interface OperationAccess {
  /** Scopes that the key needs, all of them. */
  scopes: readonly string[];
  /** Units that a request costs of each window. */
  cost: number;
}

const securityIssue =
  'has to be one entry with the scheme apiKey and the scopes that a key needs, such as [{ apiKey: [orders:read] }]';

/** What an operation of a valid description asks of a key: its scopes, or by default one of its service. */
export function accessOf(service: string, method: string, operation: Fields): OperationAccess {
  return {
    scopes: scopesOf(operation['security']) ?? [`${service}:${method === 'get' ? 'read' : 'write'}`],
    cost: unitsOf(operation[costField]) ?? 1,
  };
}

/** Whether the security of an operation says more than that there is some, which the gateway sees to. */
export function isAboutScopes(security: unknown): boolean {
  return security !== undefined && !(Array.isArray(security) && security.every(isWithoutScopes));
}

function isWithoutScopes(requirement: unknown): boolean {
  return (
    isFields(requirement) &&
    Object.entries(requirement).every(
      ([scheme, scopes]) => scheme !== 'apiKey' && listOf(scopes).length === 0,
    )
  );
}

/** Finds what is wrong with these fields of an operation: pairs of field and reason. */
export function accessIssues(operation: Fields): [field: string, reason: string][] {
  const issues: [string, string][] = [];
  if (operation['security'] !== undefined && scopesOf(operation['security']) === undefined)
    issues.push(['security', securityIssue]);
  if (operation[costField] !== undefined && unitsOf(operation[costField]) === undefined)
    issues.push([costField, `is no whole number from 1 to ${maxLimit}, the most that a plan can allow`]);
  return issues;
}

function scopesOf(security: unknown): string[] | undefined {
  if (!Array.isArray(security) || security.length !== 1) return undefined;
  const [requirement]: unknown[] = security;
  if (!isFields(requirement) || Object.keys(requirement).join() !== 'apiKey') return undefined;
  const { apiKey: scopes } = requirement;
  return Array.isArray(scopes) && scopes.every(isScope) ? scopes : undefined;
}

const isScope = (scope: unknown): scope is string => typeof scope === 'string' && scopePattern.test(scope);

/** Integers of a description are BigInt. */
function unitsOf(value: unknown): number | undefined {
  return typeof value === 'bigint' && value >= 1n && value <= BigInt(maxLimit) ? Number(value) : undefined;
}
