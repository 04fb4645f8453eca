import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { csvLine } from '../../../../../gateway/control/list-text.ts';
import { outputFormat } from '../../../../../gateway/faces/command/list-output.ts';

test('a line of CSV has the columns of the header, no formula, and no control character', () => {
  const items = [
    ['key_1', 'A "quoted", name', 5],
    ['key_2', '=HYPERLINK("x")', null],
    ['key_3', '\u{1B}[2J\nb', -1],
  ];
  const text = [['id', 'name', 'minute'], ...items].map(csvLine).join('');
  expect(parse(text, { columns: true })).toEqual([
    { id: 'key_1', name: 'A "quoted", name', minute: '5' },
    { id: 'key_2', name: `'=HYPERLINK("x")`, minute: '' },
    { id: 'key_3', name: '\u{FFFD}[2J\u{FFFD}b', minute: '-1' },
  ]);
});

test('--json is short for --output json, and nothing else', () => {
  expect(outputFormat({})).toBe('table');
  expect(outputFormat({ json: true })).toBe('json');
  expect(outputFormat({ json: true, output: 'json' })).toBe('json');
  expect(outputFormat({ output: 'csv' })).toBe('csv');
  expect(() => outputFormat({ json: true, output: 'csv' })).toThrow(/--json is short for --output json/);
});
