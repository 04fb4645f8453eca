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

type Values = Record<string, unknown>;

interface EditableOperation {
  security?: unknown;
  parameters?: (Values & { schema?: Values })[];
  requestBody?: { content: Values };
  responses: Record<string, { content: Values; headers: Values }>;
}

interface EditableSchema {
  required: string[];
  enum: string[];
  properties: Record<string, Values>;
  anyOf: { enum?: string[]; type?: string }[];
}

/** The description as tests change it. */
interface Editable {
  servers: Values[];
  paths: Record<string, Record<string, Partial<EditableOperation>>>;
  components: {
    securitySchemes: Record<string, Values>;
    headers: Record<string, Values>;
    schemas: Record<string, Partial<EditableSchema>>;
  };
}

/** What changes for clients if a description is edited. */
function changesAfter(edit: (description: Editable) => void, now = today): string[] {
  const changed = current();
  edit(changed as unknown as Editable);
  return breakingChanges(current(), changed, now);
}

/** The part of the description that a test changes, which exists. */
function existing<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the description has no such part');
  return part;
}

const operation = (d: Editable, path: string, method: string) => existing(d.paths[path]?.[method]);
const schema = (d: Editable, name: string) => existing(d.components.schemas[name]);
const set = (object: object | undefined, values: object) => Object.assign(existing(object), values);
const listPets = (d: Editable) => operation(d, '/pets', 'get');
const createPet = (d: Editable) => operation(d, '/pets', 'post');
const properties = (d: Editable, name: string) => existing(schema(d, name).properties);

type Edit = (description: Editable) => void;

/** By what is found. */
const breaking: Record<string, Edit> = {
  'GET /usage: is removed': (d) => delete d.paths['/usage'],
  'base path: changes from "/v1" to "/v2"': (d) => set(d.servers[0], { url: '/v2' }),
  'security schemes: changes from': (d) => set(d.components.securitySchemes['apiKey'], { scheme: 'basic' }),
  'GET /pets parameters query after: is removed': (d) => listPets(d).parameters?.pop(),
  'GET /pets parameters query limit required: is new': (d) =>
    set(listPets(d).parameters?.[0], { required: true }),
  'GET /pets parameters query limit schema default: changes from 20 to 10': (d) =>
    set(listPets(d).parameters?.[0]?.schema, { default: 10 }),
  'POST /pets requestBody content application/json schema required: "age" is now required': (d) =>
    schema(d, 'NewPet').required?.push('age'),
  'POST /pets requestBody content application/json schema properties status: is removed': (d) =>
    delete properties(d, 'NewPet')['status'],
  'POST /pets requestBody content application/json schema properties name minLength: changes from 1 to ': (
    d,
  ) => set(properties(d, 'NewPet')['name'], { minLength: 2 }),
  'GET /pets parameters query status schema enum: value "sold" is removed': (d) =>
    schema(d, 'PetStatus').enum?.pop(),
  'POST /pets requestBody content application/json schema additionalProperties: is new': (d) =>
    set(schema(d, 'NewPet'), { additionalProperties: false }),
  'POST /pets responses 422: is removed': (d) => delete createPet(d).responses?.['422'],
  'POST /pets responses 202: is a new success': (d) =>
    set(createPet(d).responses, { 202: { description: 'Later.' } }),
  'GET /pets responses 200 content application/json schema items properties name: is removed': (d) =>
    delete properties(d, 'Pet')['name'],
  'GET /pets responses 200 content application/json schema items required: "id" is no longer required': (d) =>
    schema(d, 'Pet').required?.shift(),
  'GET /pets responses 200 content application/json schema items properties name maxLength: is removed': (
    d,
  ) => delete properties(d, 'Pet')['name']?.['maxLength'],
  'GET /pets responses 200 content application/json schema items properties status enum: value "lost" i': (
    d,
  ) => schema(d, 'PetStatus').enum?.push('lost'),
  'GET /pets responses 400 content application/json schema properties code anyOf[0] enum: value "missin': (
    d,
  ) => schema(d, 'ErrorCode').anyOf?.[0]?.enum?.shift(),
  'GET /pets responses 200 headers Link: is removed': (d) =>
    delete listPets(d).responses?.['200']?.headers?.['Link'],
  'POST /pets: x-sunset is missing, or too early': (d) => set(createPet(d), { deprecated: true }),
  'x-sunset is missing, or too early': (d) =>
    set(createPet(d), { deprecated: true, 'x-sunset': '2027-11-01' }),
  'GET /pets/{petId}: is removed': (d) => delete d.paths['/pets/{petId}']?.['get'],
};

const compatible: Record<string, Edit> = {
  nothing: () => undefined,
  'a new path': (d) => set(d.paths, { '/stores': { get: { responses: {} } } }),
  'a new optional parameter': (d) => listPets(d).parameters?.push({ name: 'a', in: 'query' }),
  'a new optional field of a request': (d) => set(properties(d, 'NewPet'), { age: { type: 'integer' } }),
  'a new field of a response': (d) => set(properties(d, 'Pet'), { age: { type: 'integer' } }),
  'a new error code': (d) => schema(d, 'ErrorCode').anyOf?.[0]?.enum?.push('new_code'),
  'a new header of a response': (d) => set(listPets(d).responses?.['200']?.headers, { Age: { schema: {} } }),
  'a deprecation that is announced a year ahead': (d) =>
    set(createPet(d), { deprecated: true, 'x-sunset': '2027-11-22' }),
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
    const removed = (d: Editable) => delete d.paths['/pets/{petId}']?.['get'];
    expect(changesAfter(removed, new Date('2030-12-05'))).toEqual([]);
  });
});
