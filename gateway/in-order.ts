import type { NextFunction, Request, RequestHandler, Response } from 'express';

/**
 * Several steps as one. Express' router matches the path against every layer that a request passes, and restores the
 * target after it: for a journey of a dozen steps that all requests take, that costs more than most of the steps.
 *
 * A step behaves as under Express: it ends the request, or calls `next` once, or throws or rejects.
 */
export function inOrder(...steps: readonly RequestHandler[]): RequestHandler {
  return function inOrder(req, res, next) {
    take(0, req, res, next);
  };

  function take(index: number, req: Request, res: Response, done: NextFunction): void {
    const step = steps[index];
    if (step === undefined) return done();
    const next: NextFunction = (error?: unknown) => {
      if (error === undefined) take(index + 1, req, res, done);
      else done(error);
    };
    try {
      const result: unknown = step(req, res, next);
      if (result instanceof Promise) result.catch(done);
    } catch (error) {
      done(error);
    }
  }
}

/** A step for the paths at and below one, such as /v1. Other than Express' own mounting, it leaves the target alone. */
export function below(path: string, step: RequestHandler): RequestHandler {
  const prefix = `${path}/`;
  return function below(req, res, next) {
    const isBelow = req.path === path || req.path.startsWith(prefix);
    return isBelow ? step(req, res, next) : next();
  };
}
