/** One path of the API and its methods. */
export interface ApiRoute {
  /** Path as in the OpenAPI document, with the base path: /v1/orders/{id}. */
  pattern: string;
  /** Value of the Allow header. */
  allow: readonly string[];
  /** Path that everything under leads to the service, whatever its method; undefined for one path of a description. */
  under?: string;
  /** The service that it leads to; undefined for a path of the gateway's own. */
  service?: RoutedService;
}

export interface RoutedService {
  name: string;
  /** Its index in the list of services. */
  ordinal: number;
  /** By method in capitals. */
  operations: Readonly<Record<string, RoutedOperation>>;
  /** What any other method is, if it passes. */
  others?: RoutedOperation;
  /** Whether it has WebSockets. */
  upgrade?: boolean | undefined;
}

/** What an operation asks of a key. */
export interface OperationAccess {
  /** Scopes that the key needs, all of them. */
  scopes: readonly string[];
  /** Units that a request costs of each window. */
  cost: number;
}

/** What passes to an operation, and what it asks of a key. */
export interface RoutedOperation extends OperationAccess {
  /** Header parameters in lower case; all: every header that is not reserved. */
  requestHeaders: ReadonlySet<string> | 'all';
}

export const operationOf = (service: RoutedService | undefined, method: string) =>
  service?.operations[method] ?? service?.others;

/** Whether a path is one of the given ones, such as /v1, or under one of them. */
export function isUnder(basePaths: readonly string[], path: string): boolean {
  return basePaths.some(
    (base) => path.startsWith(base) && (path.length === base.length || path.charAt(base.length) === '/'),
  );
}

/** A segment that is a parameter. A name of OpenAPI's may be anything; braces and slashes would end it. */
const template = /^\{([^{}/]+)\}$/;

/**
 * What two servers could read as different paths: an empty segment, one of dots, also with parameters, and encoded slashes,
 * backslashes and control characters.
 */
const ambiguity = /\/\/|\\|%(?:2f|5c|[01][0-9a-f]|7f)|\/(?:\.|%2e){1,2}(?:[/;]|%3b|$)/i;

/** Whether a service, or a proxy before it, could take a path for another one than the gateway. */
export const isAmbiguousPath = (path: string) => ambiguity.test(path);

/** Encoded letters, digits and -._~ mean the same as themselves (RFC 3986 section 6.2.2.2). */
function decodeUnreserved(path: string): string {
  return path.replaceAll(/%([2-7][0-9a-f])/gi, (encoded, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[\w.~-]/.test(character) ? character : encoded;
  });
}

/**
 * Characters of a segment that is a parameter (RFC 3986 section 3.3), but for the semicolon: what follows it, some servers drop,
 * and could find a concrete path.
 */
const parameterText = /^(?:[\w.~:@!$&'()*+,=-]|%[0-9a-f]{2})+$/i;

/** Whether a segment has one spelling only, and is UTF-8. */
function isCanonical(segment: string): boolean {
  if (!parameterText.test(segment)) return false;
  if (!segment.includes('%')) return true;
  try {
    return decodeURIComponent(segment) !== '' && decodeUnreserved(segment) === segment;
  } catch {
    return false;
  }
}

/** Segments (RFC 3986 section 3.3) with one spelling only, and parameters. */
const matchable = /^(?:\/(?!\.{1,2}(?:\/|$))(?:[A-Za-z0-9._~:@-]+|\{[^{}/]+\}))+$/;

/** Whether a request can match a path of a description. */
export const isMatchable = (path: string) => matchable.test(path);

/** A path that operations can be under: the gateway itself has documentation and portal. */
export const basePathPattern =
  /^(?!\/(?:docs|portal|openapi\.json)(?:\/|$))(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/;
export const basePathIssue =
  'is not a base path such as /v1 or /orders/v2, without a slash at its end: /docs, /portal and /openapi.json are of the gateway';

export function parameterNames(pattern: string): string[] {
  return pattern.split('/').flatMap((segment) => template.exec(segment)?.[1] ?? []);
}

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
interface Branch {
  route?: ApiRoute;
  texts: Map<string, Branch>;
  parameter?: Branch;
}

/**
 * Creates the search for the route of a path. A concrete path wins over a template, and so does each segment from the left; a
 * description wins over a path that everything is under, of which the longest wins. Case-sensitive, without a trailing slash.
 * @param basePaths paths that a path must be under if it is not one of the concrete ones
 */
export function createMatch(
  routes: readonly ApiRoute[],
  basePaths?: readonly string[],
): (path: string) => ApiRoute | undefined {
  const concrete = new Map<string, ApiRoute>();
  const root: Branch = { texts: new Map() };
  const passing = routes
    .filter(({ under }) => under !== undefined)
    .toSorted((one, other) => (other.under ?? '').length - (one.under ?? '').length);
  for (const route of routes) {
    if (route.under !== undefined) continue;
    if (parameterNames(route.pattern).length === 0) concrete.set(route.pattern, route);
    else branchOf(root, route.pattern.split('/')).route ??= route;
  }
  return (path) => concrete.get(path) ?? search(path);

  function search(path: string): ApiRoute | undefined {
    if (isAmbiguousPath(path) || (basePaths !== undefined && !isUnder(basePaths, path))) return undefined;
    const described = find(root, path.split('/'), 0);
    if (described !== undefined || passing.length === 0) return described;
    const plain = decodeUnreserved(path);
    return passing.find(({ under = '' }) => isUnder([under], plain));
  }
}

function branchOf(root: Branch, segments: readonly string[]): Branch {
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

function find(branch: Branch | undefined, segments: readonly string[], index: number): ApiRoute | undefined {
  const segment = segments[index];
  if (branch === undefined || segment === undefined) return branch?.route;
  const found = find(branch.texts.get(segment), segments, index + 1);
  if (found !== undefined || !isCanonical(segment)) return found;
  return find(branch.parameter, segments, index + 1);
}
