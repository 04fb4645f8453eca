import { expect, test } from 'vitest';
import { apiScopes, permits } from '../../../../../gateway/control/access/api-scopes.ts';
import { apiRoutes } from '../../../../../gateway/faces/api/api.ts';

test('the scopes are those that routes need, and no other', () => {
  const needed = apiRoutes.flatMap(({ scope = [] }) => scope);
  expect(apiScopes).toEqual([...new Set(needed)].toSorted());
});

test('a route that changes something needs a scope to write, unless it is closed to tokens', () => {
  const changing = apiRoutes.filter(({ scope, isForViewers }) => scope !== undefined && !isForViewers);
  expect(changing.length).toBeGreaterThan(20);
  expect(changing.filter(({ scope }) => !scope?.endsWith(':write'))).toEqual([]);
  const reading = apiRoutes.filter(({ isForViewers }) => isForViewers);
  expect(new Set(reading.map(({ method }) => method))).toEqual(new Set(['get', 'post', 'delete']));
  const deleted = reading.filter(({ method }) => method === 'delete');
  expect(deleted.map(({ operation }) => operation.operationId)).toEqual(['endSession']);
});

test('a key of a customer is a key, a link to keys is a link, and plans for keys are plans', () => {
  const scopeOf = (operationId: string) =>
    apiRoutes.find(({ operation }) => operation.operationId === operationId)?.scope;
  expect(scopeOf('issueFurtherKey')).toBe('keys:write');
  expect(scopeOf('linkCustomer')).toBe('links:write');
  expect(scopeOf('listKeyPlans')).toBe('plans:read');
  expect(scopeOf('findKey')).toBe('keys:read');
  expect(scopeOf('previewPlanLimits')).toBe('plans:read');
});

test('sessions and tokens are closed to tokens', () => {
  const closed = apiRoutes.flatMap(({ scope, operation }) =>
    scope === undefined ? operation.operationId : [],
  );
  expect(closed.toSorted()).toEqual(
    'beginSession endSession endSessionOf getSession listApiTokens listSessions revokeApiToken'.split(' '),
  );
});

test('a scope to write permits to read, and nothing else does', () => {
  expect(permits(['keys:write'], 'keys:read')).toBe(true);
  expect(permits(['keys:read'], 'keys:read')).toBe(true);
  for (const scopes of [['keys:read'], ['customers:write'], [], ['keys:write:read'], ['keys']]) {
    expect(permits(scopes, 'keys:write')).toBe(false);
  }
});
