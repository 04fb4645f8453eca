import { describe, expect, test } from 'vitest';
import { createMatch, type RoutePath } from '../../../../gateway/services/routes.ts';

const matchOf = (...paths: RoutePath[]) =>
  createMatch(paths.map((path) => ({ path, route: { pattern: path.pattern, allow: ['GET'] } })));

describe('several parameters in a segment', () => {
  const pair = matchOf({ pattern: '/v1/{name}:{id}/x', numbers: new Set(['id']) });

  test.each(['/v1/a:5/x', '/v1/a:b:5/x', '/v1/a::5/x', '/v1/..:5/x'])('%s matches', (path) => {
    expect(pair(path)?.pattern).toBe('/v1/{name}:{id}/x');
  });

  test.each([
    '/v1/a5/x',
    '/v1/:5/x',
    '/v1/a:/x',
    '/v1/a:b@c/x',
    '/v1/a:5/',
    '/v1/a:5/x/',
    '/v1/a/:5/x',
    '/v1/%41:5/x',
  ])('%s does not', (path) => {
    expect(pair(path)).toBeUndefined();
  });

  test('a dot segment beside them does not match', () => {
    const match = matchOf({ pattern: '/v1/{folder}/{name}.{type}' });
    expect(match('/v1/a/b.c')).toBeDefined();
    expect(match('/v1/a/...')).toBeDefined();
    expect(match('/v1/../b.c')).toBeUndefined();
    expect(match('/v1/./b.c')).toBeUndefined();
  });

  test('a long path that could be divided in very many ways is matched at once', { timeout: 5000 }, () => {
    const match = matchOf({ pattern: '/v1/days/{year}-{month}-{day}' });
    expect(match('/v1/days/2026-11-27')).toBeDefined();
    expect(match(`/v1/days/${'-'.repeat(4000)}!`)).toBeUndefined();
  });
});
