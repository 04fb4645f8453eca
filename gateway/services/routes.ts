import type { OperationAccess } from '../limits/access.ts';

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

/** What passes to an operation, and what it asks of a key. */
export interface RoutedOperation extends OperationAccess {
  /** Header parameters in lower case. */
  requestHeaders: ReadonlySet<string>;
}

/** A segment that is a parameter. A name of OpenAPI's may be anything; braces and slashes would end it. */
const template = /^\{([^{}/]+)\}$/;

/**
 * Characters of a segment (RFC 3986 section 3.3): those with one spelling only. Of any other path a proxy before the service
 * could make another one.
 */
const segmentText = /^[A-Za-z0-9._~:@-]+$/;
const dotSegment = /^\.{1,2}$/;

export function parameterNames(pattern: string): string[] {
  return pattern.split('/').flatMap((segment) => template.exec(segment)?.[1] ?? []);
}

/** Says why no request can match a path; undefined if one can. */
export function whyUnmatchable(path: string): string | undefined {
  const names = parameterNames(path);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `has the parameter {${twice}} twice`;
  if (!path.startsWith('/') || path === '/') return 'is not a path such as /orders';
  const segments = path.slice(1).split('/');
  if (segments.at(-1) === '') return 'ends in a slash, with which no request is matched';
  for (const segment of segments) {
    if (segment === '' || dotSegment.test(segment)) return 'has an empty segment or one of dots';
    if (!template.test(segment) && !segmentText.test(segment))
      return `has the segment ${segment}: only letters, digits and ._~:@-, or one {parameter}, are matched`;
  }
  return undefined;
}

/** Text that is equal for paths that match the same requests. */
export const shapeOf = (path: string) =>
  path
    .split('/')
    .map((segment) => (template.test(segment) ? '{}' : segment))
    .join('/');

/** Whether a request could match both paths. */
export function overlap(one: string, other: string): boolean {
  const [left, right] = [one.split('/'), other.split('/')];
  return (
    left.length === right.length &&
    left.every((segment, index) => {
      const others = right[index] ?? '';
      return segment === others || template.test(segment) || template.test(others);
    })
  );
}

/** Routes by the first of their remaining segments. */
interface Branch<Route> {
  route?: Route;
  texts: Map<string, Branch<Route>>;
  parameter?: Branch<Route>;
}

/**
 * Creates the search for the route of a path. A concrete path wins over a template, and so does each segment from the left.
 * Case-sensitive, without a trailing slash, and nothing is decoded.
 */
export function createMatch<Route extends ApiRoute>(
  routes: readonly Route[],
): (path: string) => Route | undefined {
  const concrete = new Map<string, Route>();
  const root: Branch<Route> = { texts: new Map() };
  for (const route of routes) {
    if (parameterNames(route.pattern).length === 0) concrete.set(route.pattern, route);
    else branchOf(root, route.pattern.split('/')).route ??= route;
  }
  return (path) => concrete.get(path) ?? find(root, path.split('/'), 0);
}

function branchOf<Route>(root: Branch<Route>, segments: readonly string[]): Branch<Route> {
  let branch = root;
  for (const segment of segments) {
    const next = (template.test(segment) ? branch.parameter : branch.texts.get(segment)) ?? {
      texts: new Map(),
    };
    if (template.test(segment)) branch.parameter = next;
    else branch.texts.set(segment, next);
    branch = next;
  }
  return branch;
}

function find<Route>(
  branch: Branch<Route> | undefined,
  segments: readonly string[],
  index: number,
): Route | undefined {
  const segment = segments[index];
  if (branch === undefined || segment === undefined) return branch?.route;
  const found = find(branch.texts.get(segment), segments, index + 1);
  if (found !== undefined || !segmentText.test(segment) || dotSegment.test(segment)) return found;
  return find(branch.parameter, segments, index + 1);
}
