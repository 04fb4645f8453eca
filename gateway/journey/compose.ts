import type { RequestHandler } from 'express';

/**
 * Several steps as one. Express' router matches the path against every layer that a request passes, and restores the
 * target after it: for a journey of a dozen steps that all requests take, that costs more than most of the steps.
 *
 * A step behaves as under Express: it ends the request, or calls `next` once, or throws or rejects.
 */
export function inOrder(...steps: readonly RequestHandler[]): RequestHandler {
  return function inOrder(req, res, next) {
    let index = 0;
    function takeNext(fault?: unknown): void {
      const step = steps[index];
      index += 1;
      if (fault !== undefined || step === undefined) return next(fault);
      try {
        const result: unknown = step(req, res, takeNext);
        if (result instanceof Promise) result.catch(giveUp);
      } catch (thrown) {
        giveUp(thrown);
      }
    }
    function giveUp(thrown: unknown): void {
      next(thrown);
    }
    takeNext();
  };
}

/** A step for the paths at and below one, such as /v1. Other than Express' own mounting, it leaves the target alone. */
export function below(path: string, step: RequestHandler): RequestHandler {
  const prefix = `${path}/`;
  return function below(req, res, next) {
    const isBelow = req.path === path || req.path.startsWith(prefix);
    return isBelow ? step(req, res, next) : next();
  };
}
