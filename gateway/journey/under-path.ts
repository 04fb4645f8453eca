import { Router, type RequestHandler } from 'express';

/** Whether a path is one of the given ones, such as /v1, or under one of them. */
export function isUnder(basePaths: readonly string[], path: string): boolean {
  return basePaths.some(
    (base) => path.startsWith(base) && (path.length === base.length || path.charAt(base.length) === '/'),
  );
}

/** Restricts a step to paths, and the paths under them. Unlike Express' mounting it keeps the target. */
export function underPath(basePaths: readonly string[], step: RequestHandler): RequestHandler {
  return function underPath(req, res, next) {
    return isUnder(basePaths, req.path) ? step(req, res, next) : next();
  };
}

/** Restricts steps to all other paths. All are one step of the journey, since nearly all requests are for the API. */
export function outsidePath(basePaths: readonly string[], ...steps: RequestHandler[]): RequestHandler {
  const others = Router().all(/^/, ...steps);
  return function outsidePath(req, res, next) {
    return isUnder(basePaths, req.path) ? next() : others(req, res, next);
  };
}
