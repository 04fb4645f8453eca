import { isDeepStrictEqual } from 'node:util';

type Values = Readonly<Record<string, unknown>>;

export interface Description {
  servers: { url: string }[];
  security?: unknown;
  paths: Record<string, Record<string, Values>>;
  components: Values;
}

/** Whether clients send or receive what a part of the description is about. */
type Direction = 'request' | 'response';

const yearMs = 365 * 86_400_000;

/** What people read. */
const texts = new Set(['description', 'summary', 'example', 'examples', 'title', 'x-sunset', 'deprecated']);
/** Parts by name, to which further ones may be added. */
const openParts = new Set(['properties', 'headers', 'content', 'responses']);

/**
 * Finds what may break clients of the released description: gateway/CLIENTS.md, "Compatibility". All that it says must be
 * said still, and of what clients send nothing may be said beside it. So some changes are found that harm nobody, such as a
 * longer text in a request: such a change is made in the released description, too.
 * @param now for the sunset of deprecated operations, which may be removed afterwards
 * @returns a line each
 */
export function breakingChanges(released: Description, current: Description, now: Date): string[] {
  const whole = (description: Description) => resolved(description, description) as Description;
  const [before, after] = [whole(released), whole(current)];
  return [
    ...differences('base path', before.servers[0]?.url, after.servers[0]?.url),
    ...differences(
      'security schemes',
      before.components['securitySchemes'],
      after.components['securitySchemes'],
    ),
    ...Object.entries(before.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, was]) => {
        const name = `${method.toUpperCase()} ${path}`;
        const is = after.paths[path]?.[method];
        // Every path that exists has OPTIONS, described or not; tools take a description for something to offer.
        if (is === undefined && method === 'options' && after.paths[path] !== undefined) return [];
        if (is === undefined && isOver(was, now)) return [];
        if (is === undefined) return [`${name}: is removed`];
        const withSecurity = (operation: Values, { security }: Description) => ({ security, ...operation });
        return deprecationChanges(name, was, is, now).concat(
          changes(name, 'operation', withSecurity(was, before), withSecurity(is, after), 'request'),
        );
      }),
    ),
  ];
}

const sunsetOf = ({ 'x-sunset': sunset }: Values) => Date.parse(String(sunset));
const isOver = (operation: Values, now: Date) => sunsetOf(operation) <= now.getTime();

/** An operation is deprecated at least a year ahead, and its end is not brought forward. */
function deprecationChanges(name: string, was: Values, is: Values, now: Date): string[] {
  if (is['deprecated'] !== true) return [];
  const earliest = was['deprecated'] === true ? sunsetOf(was) : now.getTime() + yearMs;
  return sunsetOf(is) >= earliest ? [] : [`${name}: x-sunset is missing, or too early`];
}

/** @param part name of the part that is compared, such as properties */
function changes(path: string, part: string, was: unknown, is: unknown, direction: Direction): string[] {
  if (Array.isArray(was) && Array.isArray(is)) return listChanges(path, part, was, is, direction);
  if (!isValues(was) || !isValues(is)) return differences(path, was, is);
  const names = Object.keys({ ...was, ...is }).filter((name) => part === 'properties' || !texts.has(name));
  // Clients of an open enumeration expect values that they do not know.
  const side = part === 'operation' || isOpenEnumeration(was) ? 'request' : direction;
  return names.flatMap((name) => {
    const below = `${path} ${name}`;
    if (!(name in was)) {
      if (part === 'responses' && name.startsWith('2')) return [`${below}: is a new success`];
      const mayBeAdded = openParts.has(part) || openParts.has(name) || side === 'response';
      return mayBeAdded && name !== 'additionalProperties' ? [] : [`${below}: is new`];
    }
    // Whoever asks whether something has changed copes with getting all of it.
    if (!(name in is)) return part === 'responses' && name === '304' ? [] : [`${below}: is removed`];
    return changes(below, name, was[name], is[name], name === 'responses' ? 'response' : side);
  });
}

function listChanges(
  path: string,
  part: string,
  was: unknown[],
  is: unknown[],
  direction: Direction,
): string[] {
  const lost = (from: unknown[], into: unknown[]) =>
    from
      .filter((one) => !into.some((other) => isDeepStrictEqual(one, other)))
      .map((one) => JSON.stringify(one));
  switch (part) {
    case 'required':
      return direction === 'request'
        ? lost(is, was).map((name) => `${path}: ${name} is now required`)
        : lost(was, is).map((name) => `${path}: ${name} is no longer required`);
    case 'enum':
      return [
        ...lost(was, is).map((value) => `${path}: value ${value} is removed`),
        ...(direction === 'request' ? [] : lost(is, was)).map((value) => `${path}: value ${value} is new`),
      ];
    case 'parameters': {
      const byName = (list: unknown[]): Values =>
        Object.fromEntries(
          (list as Values[]).map((one) => [`${String(one['in'])} ${String(one['name'])}`, one]),
        );
      const required = (list: unknown[]) => (list as Values[]).filter((one) => one['required'] === true);
      const names = Object.keys(byName(was));
      const isNew = (name: string) => !names.includes(name);
      return [
        ...changes(path, 'properties', byName(was), byName(is), direction),
        ...Object.keys(byName(required(is)))
          .filter(isNew)
          .map((name) => `${path} ${name}: is new and required`),
      ];
    }
    default:
      if (was.length !== is.length) return differences(path, was, is);
      return was.flatMap((one, index) => changes(`${path}[${index}]`, part, one, is[index], direction));
  }
}

/** Values beside any other text. */
function isOpenEnumeration({ anyOf }: Values): boolean {
  return Array.isArray(anyOf) && anyOf.some(hasValues) && !anyOf.every(hasValues);
}

const hasValues = (schema: unknown) => isValues(schema) && 'enum' in schema;

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The part with what its references lead to. Keywords beside a reference add to it (OpenAPI 3.1). */
function resolved(description: Description, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((one) => resolved(description, one));
  if (!isValues(part)) return part;
  const { $ref, ...beside } = part;
  if (typeof $ref !== 'string')
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, resolved(description, one)]));
  const target = $ref
    .split('/')
    .slice(1)
    .reduce<unknown>((found, name) => (found as Values)[name], description);
  return resolved(description, { ...(target as Values), ...beside });
}

function differences(what: string, was: unknown, is: unknown): string[] {
  return isDeepStrictEqual(was, is)
    ? []
    : [`${what}: changes from ${JSON.stringify(was)} to ${JSON.stringify(is)}`];
}
