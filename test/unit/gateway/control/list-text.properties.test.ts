import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatCsvText } from '../../../../gateway/control/list-text.ts';

const unusual = fc.constantFrom("'", '"', '=', '+', '-', '@', ',', ';', '\t', '\r', '\n', ' ', '1', '＝');
const text = fc
  .string({ unit: fc.oneof(unusual, fc.string({ minLength: 1, maxLength: 1 })), minLength: 1 })
  .filter((value) => value.trim() === value);

test('no cell begins like a formula, and none loses its text', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (texts) => {
      const [cells = []] = parse(texts.map(formatCsvText).join(','), { trim: true });
      // Semicolons and tabs separate cells in some languages.
      for (const part of cells.flatMap((cell) => cell.split(/[;\t\r\n]/)))
        expect(part).not.toMatch(/^ *[=+\-@＝＋－＠]/);
      const withoutApostrophes = (all: string[]) => all.map((each) => each.replaceAll("'", ''));
      expect(withoutApostrophes(cells)).toEqual(withoutApostrophes(texts));
    }),
  );
});

test.each([
  ['=1+1', "'=1+1"],
  ['=A1,B1', `"'=A1,B1"`],
  ["'=x", "''=x"],
  ["'t Hooft", "'t Hooft"],
  ['a;=1+1', `"a;'=1+1"`],
])('%s is written as %s', (name, cell) => {
  expect(formatCsvText(name)).toBe(cell);
});
