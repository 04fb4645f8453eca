import { Router } from 'express';
import { loadReference, type DocsFile } from '../docs/docs.ts';
import { acceptedEncoding, createEncodeText } from '../http/encoded-text.ts';
import { apiRoutes } from './api/api.ts';
import { describeApi } from './api/document.ts';

const base = '/api/docs';
const descriptionPath = '/api/openapi.json';
/** More than there are files. */
const maxEncodedTexts = 50;

/** Serves the description of the API, and a page that is made from it, without a session: they hold no secrets. */
export function apiDocs(): Router {
  // Not at the start, which it would delay.
  let find: ((path: string) => DocsFile | undefined) | undefined;
  const encodeText = createEncodeText(maxEncodedTexts);
  const router = Router();
  router.get(
    ['/openapi.json', '/docs', '/docs.md', '/docs/assets/:version/:file'],
    async (req, res, next) => {
      find ??= loadFiles();
      const file = find(req.baseUrl + req.path);
      if (file === undefined) return next();
      const encoding = acceptedEncoding(req);
      const { body } = await encodeText(file.text, encoding);
      if (encoding !== 'identity') res.set('Content-Encoding', encoding);
      res.set({ ...file.headers, 'Content-Type': file.contentType, Vary: 'Accept-Encoding' }).send(body);
    },
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
  return (path: string) => (path === descriptionPath ? description : docs.find(path));
}
