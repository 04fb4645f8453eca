import type { OperationAccess } from '../limits/access.ts';
import type { OperationRules } from './what-passes.ts';

/** One path of the API and its methods. */
export interface ApiRoute {
  /** Path as in the OpenAPI document, with the base path: /v1/pets/{petId}. */
  pattern: string;
  /** Value of the Allow header. */
  allow: readonly string[];
  /** The service that it leads to; undefined for a path of the gateway's own. */
  service?: RoutedService;
}

export interface RoutedService {
  name: string;
  /** Its index in the list of services. */
  ordinal: number;
  /** By method in capitals. */
  operations: Readonly<Record<string, RoutedOperation>>;
}

/** What passes of an operation, and what it asks of a key. */
export interface RoutedOperation extends OperationRules, OperationAccess {}

/** A path with its parameters. */
export interface RoutePath {
  /** With the base path. */
  pattern: string;
  /** Names of parameters that are numbers. */
  numbers?: ReadonlySet<string>;
}

/** A name of OpenAPI's may be anything; braces and slashes would end it. */
const template = /\{([^{}/]+)\}/g;

export const parameterNames = (pattern: string) =>
  Array.from(pattern.matchAll(template), ([, name = '']) => name);

/** Says why no request can match a path; undefined if one can. */
export function whyUnmatchable(path: string): string | undefined {
  const names = parameterNames(path);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `has the parameter {${twice}} twice`;
  if (!path.startsWith('/') || path === '/') return 'is not a path such as /orders';
  const segments = path.slice(1).split('/');
  if (segments.at(-1) === '') return 'ends in a slash, with which no request is matched';
  for (const segment of segments) {
    const rest = segment.replaceAll(template, 'x');
    if (segment === '' || segment === '.' || segment === '..') return 'has an empty segment or one of dots';
    if (/\}\{/.test(segment)) return 'has two parameters with nothing between them';
    if (!/^[A-Za-z0-9._~:@-]+$/.test(rest))
      return `has the segment ${segment}: only letters, digits, ._~:@- and {parameters} are matched`;
  }
  return undefined;
}

/** Text that is equal for paths that match the same requests. */
export const shapeOf = (path: string) => path.replaceAll(template, '{}');

/** Whether a request could match both paths. Segments that hold a parameter and a text may be taken to match too much. */
export function overlap(one: string, other: string): boolean {
  const [left, right] = [one.split('/'), other.split('/')];
  return (
    left.length === right.length &&
    left.every((segment, index) => {
      const others = right[index] ?? '';
      return segment === others || isTemplate(segment) || isTemplate(others);
    })
  );
}

const isTemplate = (segment: string) => segment.includes('{');

/**
 * Creates the search for the route of a path. A concrete path wins over a template, and so does each segment from the left.
 * Case-sensitive, without a trailing slash, and nothing is decoded.
 */
export function createMatch<Route extends ApiRoute>(
  routes: readonly { path: RoutePath; route: Route }[],
): (path: string) => Route | undefined {
  const concrete = new Map<string, Route>();
  const templates: { matches: (path: string) => boolean; pattern: string; route: Route }[] = [];
  for (const { path, route } of routes) {
    const { pattern } = path;
    if (isTemplate(pattern)) templates.push({ matches: matcherOf(path), pattern, route });
    else concrete.set(pattern, route);
  }
  templates.sort((one, other) => compareSegments(one.pattern, other.pattern));
  return (path) => concrete.get(path) ?? templates.find(({ matches }) => matches(path))?.route;
}

/** Orders paths by their segments from the left: a text first, then one that holds a parameter, then a parameter. */
function compareSegments(one: string, other: string): number {
  const right = other.split('/').map(vagueness);
  for (const [index, left] of one.split('/').map(vagueness).entries()) {
    const difference = left - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** More text in a segment makes it less vague. */
function vagueness(segment: string): number {
  if (!isTemplate(segment)) return 0;
  return 1 / (1 + segment.replaceAll(template, '').length);
}

/**
 * Characters of a parameter (RFC 3986 section 3.3): those with one spelling only, and no dot segment. Of any other path a
 * proxy before the service could make another one. A number needs no colon.
 */
const characters = String.raw`[A-Za-z0-9._~:@-]+`;
const numberCharacters = String.raw`[A-Za-z0-9._~-]+`;
const noDotSegment = String.raw`(?!\.{1,2}(?:/|$))`;

function matcherOf(path: RoutePath): (path: string) => boolean {
  if (/\}[^/}]+\{/.test(path.pattern)) return simulationOf(path);
  const expression = expressionOf(path);
  return (text) => expression.test(text);
}

function expressionOf({ pattern, numbers = new Set() }: RoutePath): RegExp {
  const segments = pattern.split('/').map((segment) => {
    if (!isTemplate(segment)) return escapeText(segment);
    const parts = segment.split(template).map((text, index) => {
      if (index % 2 === 0) return escapeText(text);
      return numbers.has(text) ? numberCharacters : characters;
    });
    return noDotSegment + parts.join('');
  });
  return new RegExp(`^${segments.join('/')}$`);
}

/**
 * Matches a pattern with several parameters in a segment, such as {from}-{to}, in one pass. A regular expression tries all ways
 * to divide a segment among them, which for a long path of hyphens would take hours.
 */
function simulationOf({ pattern, numbers = new Set() }: RoutePath): (path: string) => boolean {
  const parameter = { accepts: new RegExp(`^${characters}$`), repeats: true };
  const number = { accepts: new RegExp(`^${numberCharacters}$`), repeats: true };
  const steps = pattern.split(template).flatMap((text, index) => {
    if (index % 2 === 1) return numbers.has(text) ? number : parameter;
    return Array.from(text, (char) => ({ accepts: new RegExp(`^${escapeText(char)}$`), repeats: false }));
  });
  return function matches(path) {
    /** Steps that the next character may be for. */
    let reached = new Set([0]);
    for (const char of path) {
      const next = new Set<number>();
      for (const index of reached) {
        const step = steps[index];
        if (step === undefined || !step.accepts.test(char)) continue;
        if (step.repeats) next.add(index);
        next.add(index + 1);
      }
      if (next.size === 0) return false;
      reached = next;
    }
    return reached.has(steps.length) && !/\/\.{1,2}(?:\/|$)/.test(path);
  };
}

function escapeText(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
