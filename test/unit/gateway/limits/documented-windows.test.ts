import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { fieldOf, windowNames, type WindowName } from '../../../../gateway/limits/windows.ts';

const families: ((name: WindowName) => string)[] = [
  (name) => name,
  (name) => fieldOf('refused', name),
  (name) => fieldOf('over', name),
];

/** Adds the fields of each object in a document that has a field for a minute and for a day. */
function collect(value: unknown, path: string, found: Map<string, string[]>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    const inner = `${path}/${name}`;
    if (name === 'properties' && typeof part === 'object' && part !== null) {
      const fields = Object.keys(part);
      const hasAll = families.some((family) =>
        (['minute', 'day'] as const).every((name) => fields.includes(family(name))),
      );
      if (hasAll) found.set(inner, fields);
    }
    collect(part, inner, found);
  }
}

test.each([
  ['gateway/openapi.yaml', 1],
  ['gateway/faces/api/openapi.yaml', 15],
])('%s has a field for each window wherever it has windows', (file, atLeast) => {
  const found = new Map<string, string[]>();
  collect(parse(readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8')), '', found);
  expect(found.size).toBeGreaterThanOrEqual(atLeast);
  const missing = Array.from(found).flatMap(([path, fields]) =>
    families.flatMap((family) => {
      const names = windowNames.map(family);
      const isThere = names.some((name) => fields.includes(name));
      return isThere ? names.filter((name) => !fields.includes(name)).map((name) => `${path}: ${name}`) : [];
    }),
  );
  expect(missing).toEqual([]);
});

test.each([
  ['gateway/openapi.yaml', 1],
  ['gateway/faces/api/openapi.yaml', 1],
])('%s names each window among the reasons of a refusal', (file, atLeast) => {
  const text = readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8');
  const lists: string[] = text.match(/`minute`, `[^.]*/g) ?? [];
  visit(parse(text), {});
  function visit(value: unknown, { enum: names }: { enum?: unknown }): void {
    if (Array.isArray(names) && names.includes('minute') && value === names) lists.push(names.join(' '));
    if (value instanceof Object) for (const part of Object.values(value)) visit(part, value);
  }
  expect(lists.length).toBeGreaterThanOrEqual(atLeast);
  for (const list of lists) for (const name of windowNames) expect(list).toMatch(new RegExp(`\\b${name}\\b`));
});
