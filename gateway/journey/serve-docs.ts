import type { Request, RequestHandler, Response } from 'express';
import type { ApiDescription } from '../api-description.ts';
import type { Docs } from '../docs/docs.ts';
import { createEncodeText, type Encoding } from '../http/encoded-text.ts';
import { sendJson } from '../http/send-response.ts';
import { assertWellFormed } from '../http/well-formed-request.ts';
import { sendEncodedText } from './send-encoded-text.ts';

/** More than there are pages and files. */
const maxEncodedTexts = 64;

/**
 * Responds to GET under /docs, and to GET / with a redirect for browsers and an index for programs. Needs no key and
 * costs no quota: everything is in memory, and compressed once.
 */
export function serveDocs(docs: Docs, { basePath }: Pick<ApiDescription, 'basePath'>): RequestHandler {
  const encodeText = createEncodeText(maxEncodedTexts);
  const index = JSON.stringify({ documentation: '/docs', description: '/openapi.json', api: basePath });

  return function serveDocs(req, res, next) {
    const { path, method } = req;
    if (method !== 'GET' && method !== 'HEAD') return next();
    if (path === '/') return sendIndex(req, res);
    if (path.endsWith('/') && docs.find(path.slice(0, -1)) !== undefined) {
      begin(req, res);
      return redirect(res, 308, path.slice(0, -1));
    }
    return sendFile(req, res) ?? next();
  };

  function sendFile(req: Request, res: Response): Promise<void> | undefined {
    const file = docs.find(req.path) ?? docs.findAsset(req.path);
    if (file === undefined) return undefined;
    begin(req, res);
    const { headers } = res.locals;
    const { text, contentType } = file;
    headers.setAll(file.headers);
    const encode = async (encoding: Encoding) => encodeText(await text, encoding);
    return sendEncodedText(req, res, headers, { contentType, encode });
  }

  function sendIndex(req: Request, res: Response): void {
    begin(req, res);
    const { headers } = res.locals;
    headers.set('Cache-Control', 'public, max-age=300');
    headers.set('Vary', 'Accept');
    // JSON is first: a program that accepts anything gets it.
    if (req.accepts(['json', 'html']) !== 'html') return sendJson(res, 200, headers, index);
    return redirect(res, 302, '/docs');
  }
}

function redirect(res: Response, status: 302 | 308, path: string): void {
  const { headers } = res.locals;
  headers.set('Location', path);
  headers.set('Content-Length', '0');
  res.writeHead(status, headers.toRaw()).end();
}

function begin(req: Request, res: Response): void {
  assertWellFormed(req);
  res.locals.decision = 'free';
}
