import type { Response } from 'express';

/**
 * Sends JSON text. Express' own `res.json` inspects settings, ETag and body, and sends headers and body apart, which takes
 * as long as all routing (test/bench/README.md).
 */
export function sendJson(res: Response, text: string): void {
  const { req } = res;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  // Express decides on 304.
  if (req.headers['if-none-match'] !== undefined) {
    res.send(text);
    return;
  }
  res.setHeader('Content-Length', Buffer.byteLength(text));
  if (req.method === 'HEAD') res.end();
  else res.end(text);
}
