import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadApiDescription } from '../../../gateway/upstream/api-description.ts';
import { breakingChanges, type Description } from './breaking-changes.ts';

const current = () => JSON.parse(loadApiDescription().json) as Description;
const today = new Date('2026-11-22');

const releases = readdirSync(new URL('released', import.meta.url)).toSorted();
const readRelease = (name: string) =>
  parse(readFileSync(new URL(`released/${name}`, import.meta.url), 'utf8')) as Description;

test.each(releases)('the description keeps every promise of %s', (name) => {
  expect(breakingChanges(readRelease(name), current(), new Date())).toEqual([]);
});

test('the changelog has an entry for every release, newest first', () => {
  const changelog = readFileSync(new URL('../../../gateway/CHANGELOG.md', import.meta.url), 'utf8');
  const dates = Array.from(changelog.matchAll(/^## (\d{4}-\d{2}-\d{2})/gm), ([, date = '']) => date);
  expect(dates).toEqual(dates.toSorted().toReversed());
  const released = releases.map((name) => /^openapi-(\d{4}-\d{2}-\d{2})\.yaml$/.exec(name)?.[1]);
  expect(released.length).toBeGreaterThan(0);
  expect(dates).toEqual(expect.arrayContaining(released));
});

/** A part of the description as tests change it: an object or a list. */
type Part = Record<string, unknown> & unknown[];
type Edit = (description: Part) => unknown;

/** The part at a path of names, which exists. */
function at(description: Part, path: string): Part {
  const part = path.split(' ').reduce<Part | undefined>((found, name) => found?.[name] as Part, description);
  if (part === undefined) throw new Error(`the description has no ${path}`);
  return part;
}

const set = (path: string, values: object) => (d: Part) => Object.assign(at(d, path), values);
const remove = (path: string, name: string) => (d: Part) => Reflect.deleteProperty(at(d, path), name);
const push = (path: string, value: unknown) => (d: Part) => at(d, path).push(value);

const listPets = 'paths /pets get';
const createPet = 'paths /pets post';
const schemas = 'components schemas';
const codes = `${schemas} ErrorCode anyOf 0 enum`;

/** What changes for clients if a description is edited. */
function changesAfter(edit: Edit, now = today): string[] {
  const changed = current();
  edit(changed as unknown as Part);
  return breakingChanges(current(), changed, now);
}

/** By what is found. */
const breaking: Record<string, Edit> = {
  'GET /usage: is removed': remove('paths', '/usage'),
  'base path: changes from "/v1" to "/v2"': set('servers 0', { url: '/v2' }),
  'security schemes: changes from': set('components securitySchemes apiKey', { scheme: 'basic' }),
  'GET /pets parameters query after: is removed': (d) => at(d, `${listPets} parameters`).pop(),
  'GET /pets parameters query limit required: is new': set(`${listPets} parameters 0`, { required: true }),
  'GET /pets parameters query limit schema default: changes from 20 to 10': set(
    `${listPets} parameters 0 schema`,
    { default: 10 },
  ),
  'POST /pets requestBody content application/json schema required: "age" is now required': push(
    `${schemas} NewPet required`,
    'age',
  ),
  'POST /pets requestBody content application/json schema properties status: is removed': remove(
    `${schemas} NewPet properties`,
    'status',
  ),
  'POST /pets requestBody content application/json schema properties name minLength: changes from 1 to ': set(
    `${schemas} NewPet properties name`,
    { minLength: 2 },
  ),
  'GET /pets parameters query status schema enum: value "sold" is removed': (d) =>
    at(d, `${schemas} PetStatus enum`).pop(),
  'POST /pets requestBody content application/json schema additionalProperties: is new': set(
    `${schemas} NewPet`,
    { additionalProperties: false },
  ),
  'POST /pets responses 422: is removed': remove(`${createPet} responses`, '422'),
  'POST /pets responses 202: is a new success': set(`${createPet} responses`, { 202: {} }),
  'GET /pets responses 200 content application/json schema items properties name: is removed': remove(
    `${schemas} Pet properties`,
    'name',
  ),
  'GET /pets responses 200 content application/json schema items required: "id" is no longer required': (d) =>
    at(d, `${schemas} Pet required`).shift(),
  'GET /pets responses 200 content application/json schema items properties name maxLength: is removed':
    remove(`${schemas} Pet properties name`, 'maxLength'),
  'GET /pets responses 200 content application/json schema items properties status enum: value "lost" i':
    push(`${schemas} PetStatus enum`, 'lost'),
  'GET /pets responses 400 content application/json schema properties code anyOf[0] enum: value "missin': (
    d,
  ) => at(d, codes).shift(),
  'GET /pets responses 200 headers Link: is removed': remove(`${listPets} responses 200 headers`, 'Link'),
  'POST /pets: x-sunset is missing, or too early': set(createPet, { deprecated: true }),
  'x-sunset is missing, or too early': set(createPet, { deprecated: true, 'x-sunset': '2027-11-01' }),
  'GET /pets/{petId}: is removed': remove('paths /pets/{petId}', 'get'),
};

const compatible: Record<string, Edit> = {
  nothing: () => undefined,
  'a new path': set('paths', { '/stores': { get: { responses: {} } } }),
  'a new optional parameter': push(`${listPets} parameters`, { name: 'a', in: 'query' }),
  'a new optional field of a request': set(`${schemas} NewPet properties`, { age: { type: 'integer' } }),
  'a new field of a response': set(`${schemas} Pet properties`, { age: { type: 'integer' } }),
  'a new error code': push(codes, 'new_code'),
  'a new header of a response': set(`${listPets} responses 200 headers`, { Age: { schema: {} } }),
  'a deprecation that is announced a year ahead': set(createPet, {
    deprecated: true,
    'x-sunset': '2027-11-22',
  }),
};

describe('a change that breaks clients is found', () => {
  test.each(Object.entries(breaking))('%s', (change, edit) => {
    expect(changesAfter(edit)).toContainEqual(expect.stringContaining(change));
  });
});

describe('a change that breaks no client is not reported', () => {
  test.each(Object.entries(compatible))('%s', (_what, edit) => {
    expect(changesAfter(edit)).toEqual([]);
  });

  test('a deprecated operation that is removed after its end', () => {
    expect(changesAfter(remove('paths /pets/{petId}', 'get'), new Date('2030-12-05'))).toEqual([]);
  });
});
