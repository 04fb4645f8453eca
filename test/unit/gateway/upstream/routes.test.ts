import { describe, expect, test } from 'vitest';
import { createMatch, isMatchable } from '../../../../gateway/upstream/routes.ts';

const matchOf = (...patterns: string[]) => {
  const match = createMatch(patterns.map((pattern) => ({ pattern, allow: ['GET'] })));
  return (path: string) => match(path)?.pattern;
};

describe('the route of a path', () => {
  test('is the concrete one, and else has texts as far left as possible', () => {
    const patterns = '/v1/{a}/{b}/{c} /v1/boxes/{b}/{c} /v1/{a}/small/mine /v1/boxes/small/open';
    const match = matchOf(...patterns.split(' '));
    expect(match('/v1/boxes/small/open')).toBe('/v1/boxes/small/open');
    expect(match('/v1/boxes/small/mine')).toBe('/v1/boxes/{b}/{c}');
    expect(match('/v1/bags/small/mine')).toBe('/v1/{a}/small/mine');
    expect(match('/v1/bags/small/open')).toBe('/v1/{a}/{b}/{c}');
  });

  test('is found behind a text that leads nowhere', () => {
    const match = matchOf('/v1/boxes/mine/lid', '/v1/{a}/mine/{c}/{d}', '/v1/boxes/{b}/x');
    expect(match('/v1/boxes/mine/x')).toBe('/v1/boxes/{b}/x');
    expect(match('/v1/boxes/mine/x/y')).toBe('/v1/{a}/mine/{c}/{d}');
  });

  // The last ones have another spelling or meaning.
  test.each(
    (
      '/v1/boxes /v1/boxes/ /v1/boxes/. /v1/boxes/.. /v1/boxes/%41 /v1/boxes/1/2 /v1/boxes/a;b /v1/boxes/% ' +
      '/v1/boxes/%zz /v1/boxes/%c0%ae /v1/boxes/a%2fb /v1//boxes'
    ).split(' '),
  )('does not exist for %s', (path) => {
    expect(matchOf('/v1/boxes/{id}')(path)).toBeUndefined();
  });

  test.each(['/v1/boxes/a%20b', '/v1/boxes/%C3%A4', "/v1/boxes/a,b!$&'()*+="])('exists for %s', (path) => {
    expect(matchOf('/v1/boxes/{id}')(path)).toBe('/v1/boxes/{id}');
  });

  test('is one that everything is under, if no description has it, and the longest of these', () => {
    const allow = ['GET'];
    const routes = ['/v1', '/v1/b', '/v1/b/c'].map((under) => ({ pattern: `${under}/*`, allow, under }));
    const match = createMatch([...routes, { pattern: '/v1/b/{id}', allow }]);
    const found = (paths: string) => paths.split(' ').map((path) => match(path)?.pattern ?? 'none');
    expect(found('/v1 /v1/ /v1/bc/d')).toEqual(['/v1/*', '/v1/*', '/v1/*']);
    expect(found('/v1/b/1 /v1/b/1/2 /v1/b/c')).toEqual(['/v1/b/{id}', '/v1/b/*', '/v1/b/{id}']);
    expect(found('/v1/b/c/d/ /v2 /v1/../b')).toEqual(['/v1/b/c/*', 'none', 'none']);
  });
});

test('a description may have some paths only', () => {
  expect(isMatchable('/boxes/{a.b$c}/x:y')).toBe(true);
  const others = '/boxes/{id}:empty /days/{year}-{month} /boxes/ / /boxes//x /boxes/.. boxes'.split(' ');
  expect(others.filter(isMatchable)).toEqual([]);
});
