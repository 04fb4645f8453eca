import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { chosenChanges } from '../../mutations/chosen.ts';
import { allMutations, chooseMutation, pickMutations, plant } from '../../mutations/plant.ts';
import { targets } from '../../mutations/targets.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const lua = [
  '--[[',
  "if a == b then return 'text' end",
  ']]',
  '-- if a == b',
  "  if used > 0 and name == 'minute' then",
  "    redis.call('SET', key, value)",
  '  end',
].join('\n');

test('changes are planted in code, not in comments, and each is another text', () => {
  const mutations = allMutations('a.lua', lua);
  expect(mutations.map(({ line, rule, after }) => `${line} ${rule}: ${after}`)).toEqual([
    "5 bound: if used >= 0 and name == 'minute' then",
    "5 number: if used > 1 and name == 'minute' then",
    "5 comparison: if used > 0 and name ~= 'minute' then",
    "5 condition: if used > 0 or name == 'minute' then",
    "5 branch: if not (used > 0 and name == 'minute') then",
    "5 key: if used > 0 and name == 'xminute' then",
    '6 removed line: ',
  ]);
  const planted = mutations.map((mutation) => plant(lua, mutation));
  expect(new Set([lua, ...planted]).size).toBe(1 + planted.length);
});

test('the same changes are picked each time, at most one a line, also if other lines change', () => {
  const picked = (text: string) =>
    pickMutations('a.lua', text, 10).map(({ before, after }) => `${before} ${after}`);
  expect(picked(lua)).toHaveLength(2);
  expect(picked(`-- another line\n${lua}`)).toEqual(picked(lua));
});

test('at least 100 changes can be planted, each in a text that parses', () => {
  const picked = targets.flatMap(({ source }) => {
    const text = readFileSync(join(root, source), 'utf8');
    const mutations = pickMutations(source, text, 5);
    if (source.endsWith('.ts')) for (const mutation of mutations) stripTypeScriptTypes(plant(text, mutation));
    return mutations;
  });
  expect(picked.length).toBeGreaterThanOrEqual(100);
});

test.each(chosenChanges)('$source has the line of a chosen change: $before', ({ source, before, after }) => {
  const text = readFileSync(join(root, source), 'utf8');
  const planted = plant(text, chooseMutation(source, text, before, after));
  expect(planted).not.toBe(text);
  if (source.endsWith('.ts')) stripTypeScriptTypes(planted);
});
