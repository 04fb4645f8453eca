import { describe, expect, test } from 'vitest';
import { int64Reviver } from '../../../../pets-service/pets/pet.ts';

const million = 1_000_000;
const zeros = '0'.repeat(million);

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
  ])('%s', (_name, source, value) => {
    expect(JSON.parse(source, int64Reviver)).toBe(value ?? Number(source));
  });
});
