import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatJson } from '../../../../../gateway/faces/docs/browser/format-json.ts';

test('a 64-bit integer keeps all its digits', () => {
  expect(formatJson('{"id":9007199254740993,"tags":[],"of":{}}')).toBe(
    '{\n  "id": 9007199254740993,\n  "tags": [],\n  "of": {}\n}',
  );
});

test('any JSON is indented as JSON.stringify does', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      expect(formatJson(JSON.stringify(value, null, space))).toBe(JSON.stringify(value, null, 2));
    }),
  );
});

test('a text that is no JSON is not lost', () => {
  expect(formatJson('502 Bad Gateway')).toContain('Gateway');
});
