import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { parse } from 'yaml';
import { sendJson } from './http/send-json.ts';

/** Responds with openapi.yaml as JSON. Needs no token: a caller reads it before it has one. */
export function describeApi(): RequestHandler {
  const json = JSON.stringify(parse(readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8')));
  return function describeApi(_req, res) {
    sendJson(res, json);
  };
}
