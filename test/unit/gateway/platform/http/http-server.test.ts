import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import express from 'express';
import { expect, test } from 'vitest';
import { createMessageClasses } from '../../../../../gateway/platform/http/http-server.ts';
import { send } from '../../../../support/http/http.ts';
import { listening } from '../../../../support/http/listening.ts';

test("requests and responses have an Express app's prototypes from the start, and the app keeps them", async () => {
  const app = express();
  app.use((req, res) => {
    res.json({ ip: req.ip, path: req.path, ofApp: req.app === app && res.app === app });
  });
  const prototypes: unknown[] = [];
  const recordPrototypes = (...messages: (IncomingMessage | ServerResponse)[]) =>
    prototypes.push(...messages.map((message) => Object.getPrototypeOf(message) as unknown));
  const server = createServer(createMessageClasses(app), (req, res) => {
    recordPrototypes(req, res);
    app(req, res);
    recordPrototypes(req, res);
  });
  using started = await listening(server);
  const { json } = await send(`${started.url}/pets?limit=2`);
  expect(json).toEqual({ ip: '127.0.0.1', path: '/pets', ofApp: true });
  expect(prototypes.map((one, index) => one === (index % 2 === 0 ? app.request : app.response))).toEqual(
    Array(4).fill(true),
  );
});
