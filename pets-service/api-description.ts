import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { parse } from 'yaml';

/** Responds with openapi.yaml as JSON. Needs no token: a caller reads it before it has one. */
export function describeApi(): RequestHandler {
  const description: unknown = parse(readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8'));
  return function describeApi(_req, res) {
    res.json(description);
  };
}
