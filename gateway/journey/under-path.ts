import { Router, type RequestHandler } from 'express';
import { isUnder } from '../services/routes.ts';

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
