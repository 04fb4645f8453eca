import type { RequestHandler } from 'express';
import { acceptedEncoding, createEncodeText } from './encoded-text.ts';

interface ServedFile {
  text: string | Promise<string>;
  contentType: string;
  headers: Readonly<Record<string, string>>;
}

/** More than a page has. */
const maxEncodedTexts = 50;

/** Serves texts by their paths, each compressed once. @param find finds what is at a path */
export function serveFiles(find: (path: string) => ServedFile | undefined): RequestHandler {
  const encodeText = createEncodeText(maxEncodedTexts);
  return async function serveFiles(req, res, next) {
    const isRead = req.method === 'GET' || req.method === 'HEAD';
    const file = isRead ? find(req.baseUrl + req.path) : undefined;
    if (file === undefined) return next();
    const encoding = acceptedEncoding(req);
    const { body } = await encodeText(await file.text, encoding);
    if (encoding !== 'identity') res.set('Content-Encoding', encoding);
    res.set({ ...file.headers, 'Content-Type': file.contentType, Vary: 'Accept-Encoding' }).send(body);
  };
}
