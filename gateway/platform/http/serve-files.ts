import type { RequestHandler } from 'express';

interface ServedFile {
  text: string | Promise<string>;
  contentType: string;
  headers: Readonly<Record<string, string>>;
}

/** Serves texts by their paths. @param find finds what is at a path */
export function serveFiles(find: (path: string) => ServedFile | undefined): RequestHandler {
  return async function serveFiles(req, res, next) {
    const isRead = req.method === 'GET' || req.method === 'HEAD';
    const file = isRead ? find(req.baseUrl + req.path) : undefined;
    if (file === undefined) return next();
    // A Buffer, since Express adds a charset to the type of a text.
    res.set({ ...file.headers, 'Content-Type': file.contentType }).send(Buffer.from(await file.text));
  };
}
