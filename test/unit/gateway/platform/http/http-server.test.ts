import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, test } from 'vitest';
import { createMessageClasses } from '../../../../../gateway/platform/http/http-server.ts';
import { send } from '../../../../support/http/http.ts';

test("requests and responses have an Express app's prototypes from the start, and the app keeps them", async () => {
  const app = express();
  app.use((req, res) => {
    res.json({ ip: req.ip, path: req.path, ofApp: req.app === app && res.app === app });
  });
  const hasAppPrototype: boolean[] = [];
  const recordPrototypes = (req: IncomingMessage, res: ServerResponse) =>
    hasAppPrototype.push(
      Object.getPrototypeOf(req) === app.request,
      Object.getPrototypeOf(res) === app.response,
    );
  const server = createServer(createMessageClasses(app), (req, res) => {
    recordPrototypes(req, res);
    app(req, res);
    recordPrototypes(req, res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const response = await send(`http://127.0.0.1:${port}/pets?limit=2`);
    expect(response.json).toEqual({ ip: '127.0.0.1', path: '/pets', ofApp: true });
    expect(hasAppPrototype).toEqual([true, true, true, true]);
  } finally {
    server.close();
  }
});
