import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import {
  csvHeader,
  csvLine,
  fieldColumns,
  outputFormat,
} from '../../../../../gateway/faces/command/list-output.ts';

interface Item {
  id: string;
  name: string;
  minute: number | null;
}

const csv = fieldColumns<Item>('id', 'name', 'minute');

test('a line of CSV has the columns of the header, no formula, and no control character', () => {
  const items = [
    { id: 'key_1', name: 'A "quoted", name', minute: 5 },
    { id: 'key_2', name: '=HYPERLINK("x")', minute: null },
    { id: 'key_3', name: '\u{1B}[2J\nb', minute: -1 },
  ];
  const text = csvHeader({ csv }) + items.map((item) => csvLine({ csv }, item)).join('');
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
