/** What the comparison reads of a JSON Schema. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  [limit: string]: unknown;
}

/** Whether clients send or receive the values of a schema. */
export type Direction = 'request' | 'response';

interface Comparison {
  direction: Direction;
  /** Resolve references into the released and the current document. */
  resolveReleased: (schema: Schema) => Schema;
  resolveCurrent: (schema: Schema) => Schema;
}

const lowerLimits = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const upperLimits = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];

/**
 * Finds the changes of a schema that break clients: a request schema must still allow all that it allowed, and a response
 * schema must allow nothing that it did not allow, apart from new fields and new values of open enumerations.
 * @param path of the schema, for the messages
 */
export function schemaChanges(was: Schema, is: Schema, path: string, comparison: Comparison): string[] {
  const { direction } = comparison;
  const released = comparison.resolveReleased(was);
  const current = comparison.resolveCurrent(is);
  // Of the two, the schema that must allow whatever the other one allows.
  const [narrow, wide] = direction === 'request' ? [released, current] : [current, released];
  const changes: string[] = [];
  const report = (what: string) => changes.push(`${path}: ${what}`);

  const lostTypes = typesOf(narrow).filter((type) => !allowsType(wide, type));
  if (lostTypes.length > 0 || (wide.type !== undefined && narrow.type === undefined)) {
    report(`type changes from ${JSON.stringify(released.type)} to ${JSON.stringify(current.type)}`);
  }
  for (const keyword of ['format', 'pattern'] as const) {
    if (wide[keyword] !== undefined && wide[keyword] !== narrow[keyword]) {
      report(`${keyword} changes from ${String(released[keyword])} to ${String(current[keyword])}`);
    }
  }
  for (const [keywords, isWithin] of [
    [lowerLimits, (limit: number, value: number) => value >= limit],
    [upperLimits, (limit: number, value: number) => value <= limit],
  ] as const) {
    for (const keyword of keywords) {
      const limit = wide[keyword];
      const value = narrow[keyword];
      if (typeof limit === 'number' && !(typeof value === 'number' && isWithin(limit, value))) {
        report(`${keyword} changes from ${String(released[keyword])} to ${String(current[keyword])}`);
      }
    }
  }
  changes.push(...valueChanges(released, current, path, direction));
  if (direction === 'request' && !isEqual(released.default, current.default)) {
    report(`default changes from ${JSON.stringify(released.default)} to ${JSON.stringify(current.default)}`);
  }
  changes.push(...fieldChanges(released, current, path, comparison));
  if (released.items !== undefined) {
    if (current.items === undefined) report('items are no longer described');
    else changes.push(...schemaChanges(released.items, current.items, `${path}[]`, comparison));
  }
  for (const keyword of ['anyOf', 'oneOf', 'allOf'] as const) {
    changes.push(
      ...alternativeChanges(released[keyword], current[keyword], `${path} ${keyword}`, {
        ...comparison,
        isOpen: isOpenEnumeration(released),
      }),
    );
  }
  return changes;
}

function valueChanges(released: Schema, current: Schema, path: string, direction: Direction): string[] {
  const was = allowedValues(released);
  const is = allowedValues(current);
  if (was === undefined && is === undefined) return [];
  if (was === undefined) return direction === 'request' ? [`${path}: is now limited to some values`] : [];
  if (is === undefined)
    return direction === 'response' ? [`${path}: is no longer limited to its values`] : [];
  const removed = was.filter((value) => !is.includes(value));
  const added = direction === 'response' ? is.filter((value) => !was.includes(value)) : [];
  return [
    ...removed.map((value) => `${path}: value ${value} is removed`),
    ...added.map((value) => `${path}: value ${value} is added, which clients do not expect`),
  ];
}

function fieldChanges(released: Schema, current: Schema, path: string, comparison: Comparison): string[] {
  const { direction } = comparison;
  const changes: string[] = [];
  for (const [name, schema] of Object.entries(released.properties ?? {})) {
    const now = current.properties?.[name];
    if (now === undefined) changes.push(`${path}.${name}: is removed`);
    else changes.push(...schemaChanges(schema, now, `${path}.${name}`, comparison));
  }
  const [expected, given] = direction === 'request' ? [current, released] : [released, current];
  for (const name of expected.required ?? []) {
    if (given.required?.includes(name) === true) continue;
    changes.push(`${path}.${name}: ${direction === 'request' ? 'is now required' : 'is no longer required'}`);
  }
  if (current.additionalProperties === false && released.additionalProperties !== false) {
    changes.push(`${path}: unknown fields are now refused`);
  }
  return changes;
}

function alternativeChanges(
  released: Schema[] | undefined,
  current: Schema[] | undefined,
  path: string,
  { isOpen, ...comparison }: Comparison & { isOpen: boolean },
): string[] {
  const was = released ?? [];
  const is = current ?? [];
  const changes = was.flatMap((schema, index) => {
    const now = is[index];
    if (now === undefined) return [`${path}[${index}]: is removed`];
    const found = schemaChanges(schema, now, `${path}[${index}]`, comparison);
    // Clients of an open enumeration expect values that they do not know.
    return isOpen
      ? found.filter((change) => !change.endsWith('is added, which clients do not expect'))
      : found;
  });
  if (is.length > was.length) changes.push(`${path}: ${is.length - was.length} added`);
  return changes;
}

/** An enumeration beside any other text, so that values can be added. */
function isOpenEnumeration({ anyOf = [] }: Schema): boolean {
  return anyOf.some((part) => part.enum !== undefined) && anyOf.some((part) => part.enum === undefined);
}

/** As JSON texts, which can be compared. */
function allowedValues(schema: Schema): string[] | undefined {
  const values = schema.const === undefined ? schema.enum : [schema.const];
  return values?.map((value) => JSON.stringify(value));
}

const typesOf = ({ type }: Schema) => (type === undefined ? [] : [type].flat());

function allowsType(schema: Schema, type: string): boolean {
  const types = typesOf(schema);
  return types.length === 0 || types.includes(type) || (type === 'integer' && types.includes('number'));
}

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
