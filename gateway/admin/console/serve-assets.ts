import { extname } from 'node:path';
import type { RequestHandler } from 'express';
import { acceptedEncoding, encode, type EncodedText } from '../../http/encoded-text.ts';

/** A path of a file for browsers. No part of it begins with a dot. */
const assetPath = /^\/((?:[\w-][\w.-]*\/)+[\w-][\w.-]*\.(?:css|js|svg|ts))$/;

/**
 * Serves files that never change under their address. Each is read and compressed once: a page of the console loads a
 * hundred, and anybody who can connect to the admin port may ask for them.
 * @param read finds the text of a file; undefined for an unknown name
 */
export function serveAssets(read: (name: string) => Promise<string | undefined>): RequestHandler {
  const loaded = new Map<string, EncodedText>();
  return async function serveAssets(req, res, next) {
    const [, name] = assetPath.exec(req.path) ?? [];
    if (name === undefined || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
    const encoding = acceptedEncoding(req);
    const key = `${encoding} ${name}`;
    let file = loaded.get(key);
    if (file === undefined) {
      const text = await read(name);
      if (text === undefined) return next();
      file = await encode(text, encoding);
      loaded.set(key, file);
    }
    if (encoding !== 'identity') res.set('Content-Encoding', encoding);
    res.set({ 'Cache-Control': 'public, max-age=31536000, immutable', Vary: 'Accept-Encoding' });
    const extension = extname(name);
    res.type(extension === '.ts' ? 'js' : extension).send(file.body);
  };
}
