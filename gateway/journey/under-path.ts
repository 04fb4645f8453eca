import type { RequestHandler } from 'express';

/** Restricts a step to a path, such as /v1, and the paths under it. Unlike Express' mounting it keeps the target. */
export function underPath(path: string, step: RequestHandler): RequestHandler {
  const prefix = `${path}/`;
  return function underPath(req, res, next) {
    const isUnder = req.path === path || req.path.startsWith(prefix);
    return isUnder ? step(req, res, next) : next();
  };
}
