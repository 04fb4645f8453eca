import { describe, expect, test } from 'vitest';
import { PetsError } from '../../../../pets-service/errors.ts';
import { formatCursor, parseNewPet, parsePetsQuery } from '../../../../pets-service/pets/pet.ts';

/** Body of the error response that a client receives. */
function errorBody(parse: () => unknown): unknown {
  try {
    return { accepted: parse() };
  } catch (error) {
    if (error instanceof PetsError) return error.toJSON();
    throw error;
  }
}

const invalidStatus = 'status must be one of available, pending, sold.';
const invalid = (message: string) => ({ code: 'invalid_request', message, status: 400 });

describe('a new pet', () => {
  test("drops unknown fields and a client's id", () => {
    expect(parseNewPet({ id: 7n, name: 'Rex', categoryId: 1n, age: 3n })).toEqual({
      name: 'Rex',
      categoryId: 1n,
      status: 'available',
    });
  });

  test.each([
    ['surrounded by white space, which is trimmed', ' \t\r\n\u00a0Rex II\u3000 ', 'Rex II'],
    ['of 255 characters', 'x'.repeat(255), 'x'.repeat(255)],
    ['of 255 code points outside the basic plane', '🐕'.repeat(255), '🐕'.repeat(255)],
  ])('may have a name %s', (_name, name, stored) => {
    expect(parseNewPet({ name, categoryId: 1n }).name).toBe(stored);
  });
});

describe('a name is refused', () => {
  test.each([
    ['missing', undefined, 'name is required.'],
    ['a number', 5n, 'name must be a string.'],
    ['empty', '', 'name must not be empty.'],
    ['white space', ' \t\u2003 ', 'name must not be empty.'],
    ['256 characters long', 'x'.repeat(256), 'name must have at most 255 characters.'],
    ['with a NUL', 'R\u0000x', 'name must not contain control characters.'],
    ['with an ESC', '\u001b[31mRex', 'name must not contain control characters.'],
    ['with the last C1 control character', 'Rex\u009f', 'name must not contain control characters.'],
    ['with half a surrogate pair', 'Rex\ud83d', 'name must be valid Unicode.'],
  ])('%s', (_name, name, message) => {
    expect(errorBody(() => parseNewPet({ name, categoryId: 1n }))).toEqual(invalid(message));
  });
});

type Refused = [name: string, value: unknown, message: string];
const each = (name: string, values: readonly unknown[], message: string) =>
  values.map((value): Refused => [name, value, message]);

test.each([
  ...each('categoryId', [undefined], 'categoryId is required.'),
  ...each('categoryId', [null, '1', 1.5, 1e19, true], 'categoryId must be a 64-bit integer.'),
  ...each('status', [null, '', 'Sold', 'gone', 1n, ['sold']], invalidStatus),
])('%s is refused if it is %s', (field, value, message) => {
  const parse = () => parseNewPet({ name: 'Rex', categoryId: 1n, [field]: value });
  expect(errorBody(parse)).toEqual(invalid(message));
});

test.each([undefined, null, 'Rex', 1n, [{ name: 'Rex', categoryId: 1n }]])(
  'a body that is %s is refused',
  (body) => {
    expect(errorBody(() => parseNewPet(body))).toEqual(invalid('The body must be a JSON object.'));
  },
);

test('all invalid fields are reported together', () => {
  const reasons =
    'name is required; categoryId must be a 64-bit integer; status must be one of available, pending, sold.';
  expect(errorBody(() => parseNewPet({ categoryId: '1', status: null }))).toEqual(invalid(reasons));
});

describe('a query', () => {
  const limits = '0,101,-1,1.5,1e1,05,+5, 5,5 ,5\n,ten,,999999999999999999999'.split(',');
  test.each([
    ...each('limit', limits, 'limit must be an integer from 1 to 100.'),
    ...each('status', ['', 'Sold', 'gone', 'sold,pending'], invalidStatus),
    ...each('after', ['', '-1', '07', '9223372036854775808'], 'after must be the id of a pet, or 0.'),
    ...['limit', 'status', 'cursor', 'after'].flatMap((name) =>
      each(name, [['1', '1']], `${name} must be given only once.`),
    ),
  ])('is refused with the %s %j', (name, value, message) => {
    expect(errorBody(() => parsePetsQuery({ [name]: value }))).toEqual(invalid(message));
  });

  test('names all invalid parameters together', () => {
    const query = { limit: '0', status: ['sold', 'sold'], cursor: 'x', after: '-1' };
    expect(errorBody(() => parsePetsQuery(query))).toEqual(
      invalid(
        'limit must be an integer from 1 to 100; status must be given only once; ' +
          'cursor is invalid: take it from the Link header of a page; after must be the id of a pet, or 0.',
      ),
    );
  });

  test.each([
    ['0', 0n],
    ['7', 7n],
    ['9223372036854775807', 2n ** 63n - 1n],
  ])('may begin after the id %s, instead of a cursor', (after, afterId) => {
    expect(parsePetsQuery({ after }).afterId).toBe(afterId);
    expect(parsePetsQuery({ after, cursor: formatCursor(9n) }).afterId).toBe(afterId);
  });
});

describe('a cursor', () => {
  test('is a fixed text for an id, and needs no escaping in a URL', () => {
    expect(formatCursor(2n ** 63n - 1n)).toBe('f_________8');
  });

  test.each([
    ['empty', ''],
    ['cut short', formatCursor(20n).slice(0, -1)],
    ['with a stray character', `${formatCursor(20n).slice(0, 5)}!${formatCursor(20n).slice(5)}`],
    ['with other bits at its end', `${formatCursor(20n).slice(0, -1)}B`],
  ])('is refused if it is %s', (_name, cursor) => {
    expect(errorBody(() => parsePetsQuery({ cursor }))).toEqual(
      invalid('cursor is invalid: take it from the Link header of a page.'),
    );
  });
});
