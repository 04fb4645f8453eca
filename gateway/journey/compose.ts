import type { RequestHandler } from 'express';

/**
 * Combines steps into one middleware. Express' router would match the path for each layer that a request passes, and
 * restore the target after it, which costs more than most of the steps (test/bench/README.md).
 *
 * A step behaves as under Express: it ends the request, or calls `next` once, or throws or rejects.
 */
export function compose(...steps: readonly RequestHandler[]): RequestHandler {
  return function compose(req, res, next) {
    let index = 0;
    function runNext(thrown?: unknown): void {
      const step = steps[index];
      index += 1;
      if (thrown !== undefined || step === undefined) return next(thrown);
      try {
        const result: unknown = step(req, res, runNext);
        if (result instanceof Promise) result.catch(fail);
      } catch (error) {
        fail(error);
      }
    }
    function fail(thrown: unknown): void {
      next(thrown);
    }
    runNext();
  };
}

/** Restricts a step to a path, such as /v1, and the paths under it. Unlike Express' mounting it keeps the target. */
export function underPath(path: string, step: RequestHandler): RequestHandler {
  const prefix = `${path}/`;
  return function underPath(req, res, next) {
    const isUnder = req.path === path || req.path.startsWith(prefix);
    return isUnder ? step(req, res, next) : next();
  };
}
