import { Router } from 'express';
import { serveFiles } from '../../platform/http/serve-files.ts';
import { loadReference, type DocsFile } from '../docs/docs.ts';
import { apiRoutes } from './api.ts';
import { describeApi } from './document.ts';

const base = '/api/docs';
const descriptionPath = '/api/openapi.json';

/** Serves the description of the API, and a page that is made from it, without a session: they hold no secrets. */
export function apiDocs(): Router {
  // Not at the start, which it would delay.
  let find: ReturnType<typeof loadFiles> | undefined;
  const router = Router();
  router.get(
    ['/openapi.json', '/docs', '/docs.md', '/docs/assets/:version/:file'],
    serveFiles((path) => (find ??= loadFiles())(path)),
  );
  return router;
}

function loadFiles() {
  const text = JSON.stringify(describeApi(apiRoutes));
  const operations = apiRoutes.map(({ method, path, scope }) => ({
    method: method.toUpperCase(),
    route: `/api${path.replaceAll(/:(\w+)/g, '{$1}')}`,
    access: { scopes: scope === undefined ? [] : [scope], cost: 1 },
  }));
  const docs = loadReference(text, operations, {
    base,
    descriptionPath,
    keyVariable: 'OPS_TOKEN',
    scopeHolder: 'A token',
  });
  const description: DocsFile = {
    text,
    contentType: 'application/json; charset=utf-8',
    headers: { 'Cache-Control': 'no-cache' },
  };
  return (path: string) =>
    path === descriptionPath ? description : (docs.find(path) ?? docs.findAsset(path));
}
