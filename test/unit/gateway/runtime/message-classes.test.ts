import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, test } from 'vitest';
import { createMessageClasses } from '../../../../gateway/runtime/message-classes.ts';
import { send } from '../../../support/http/http.ts';

test("requests and responses are an Express app's own before it sees them, and it leaves their prototypes alone", async () => {
  const app = express();
  app.use((req, res) => {
    res.json({ ip: req.ip, path: req.path, ofApp: req.app === app && res.app === app });
  });
  const ofApp: boolean[] = [];
  const note = (req: IncomingMessage, res: ServerResponse) =>
    ofApp.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response);
  const server = createServer(createMessageClasses(app), (req, res) => {
    note(req, res);
    app(req, res);
    note(req, res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const response = await send(`http://127.0.0.1:${port}/pets?limit=2`);
    expect(response.json).toEqual({ ip: '127.0.0.1', path: '/pets', ofApp: true });
    expect(ofApp).toEqual([true, true, true, true]);
  } finally {
    server.close();
  }
});
