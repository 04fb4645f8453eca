import { describe, expect, test } from 'vitest';
import { int64Json, int64Reviver, parseInt64 } from '../../../../pets-service/pets/exact-json.ts';

const million = 1_000_000;
const zeros = '0'.repeat(million);

const parse = (text: string): unknown => JSON.parse(text, int64Reviver);

// Parsing any of these in quadratic time would take minutes.
describe('a literal of a megabyte is parsed in linear time', () => {
  test.each([
    ['zeros after the point', `1.${zeros}`, 1n],
    ['a power of ten cancelled by its exponent', `1${zeros}e-${million}`, 1n],
    ['a tiny fraction cancelled by its exponent', `0.${zeros}1e${million + 1}`, 1n],
    ['only zeros', `0.${zeros}`, 0n],
    ['a huge power of ten', `1${zeros}`, undefined],
    ['zeros between ones', `1${zeros}1`, undefined],
    ['zeros between ones after the point', `1.${zeros}1`, undefined],
    ['nines', '9'.repeat(million), undefined],
    ['zero with an exponent of nines', `0e${'9'.repeat(million)}`, 0n],
    ['an exponent of nines', `1e${'9'.repeat(million)}`, undefined],
    ['a negative exponent of nines', `1e-${'9'.repeat(million)}`, undefined],
    ['digits that end in a letter', `${'1'.repeat(million)}x`, undefined],
  ])('%s', (_name, source, value) => {
    expect(parseInt64(source)).toBe(value);
  });
});

describe('a JSON body', () => {
  test('keeps its integers exact, at any depth', () => {
    expect(parse('{"id":9007199254740993,"list":[-1,{"n":1e3}]}')).toEqual({
      id: 9_007_199_254_740_993n,
      list: [-1n, { n: 1000n }],
    });
  });

  test('keeps other values unchanged', () => {
    expect(parse('[1.5,1e19,"7",true,null]')).toEqual([1.5, 1e19, '7', true, null]);
  });

  test('may be a number alone', () => {
    expect(parse('42')).toBe(42n);
  });

  test('with a literal of a megabyte is parsed', () => {
    expect(parse(`{"categoryId":1.${zeros}}`)).toEqual({ categoryId: 1n });
  });
});

test('integers are serialized digit for digit, among other values', () => {
  const pet = {
    id: int64Json(2n ** 63n - 1n),
    categoryId: int64Json(-(2n ** 63n)),
    exact: int64Json(2n ** 53n - 1n),
    beyond: int64Json(2n ** 53n + 1n),
    name: '1n',
    price: 1.5,
    owner: null,
  };
  expect(JSON.stringify(pet)).toBe(
    '{"id":9223372036854775807,"categoryId":-9223372036854775808,"exact":9007199254740991,"beyond":9007199254740993,"name":"1n","price":1.5,"owner":null}',
  );
});
