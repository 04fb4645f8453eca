import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import { expect, test } from 'vitest';
import { createMessageClasses } from '../../gateway/http/message-classes.ts';
import { createHttpServer } from '../../pets-service/http/http-server.ts';
import { createMessageClasses as createPetsMessageClasses } from '../../pets-service/http/message-classes.ts';
import { send } from '../support/http/http.ts';

type ServerOf = (app: Express, listener: RequestListener) => Server;

const services: { service: string; serverOf: ServerOf }[] = [
  { service: 'gateway', serverOf: (app, listener) => createServer(createMessageClasses(app), listener) },
  {
    service: 'pets service, whose app comes after its server',
    serverOf(app, listener) {
      const timeouts = { headersTimeoutMs: 10_000, requestTimeoutMs: 10_000, keepAliveTimeoutMs: 1000 };
      const { classes, adoptBy } = createPetsMessageClasses();
      const server = createHttpServer(listener, classes, timeouts);
      adoptBy(app);
      return server;
    },
  },
];

test.each(services)(
  "$service: requests and responses are an Express app's own before it sees them, and it leaves their prototypes alone",
  async ({ serverOf }) => {
    const app = express();
    app.use((req, res) => {
      res.json({ ip: req.ip, path: req.path, ofApp: req.app === app && res.app === app });
    });
    const ofApp: boolean[] = [];
    const note = (req: IncomingMessage, res: ServerResponse) =>
      ofApp.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response);
    const server = serverOf(app, (req, res) => {
      note(req, res);
      app(req, res);
      note(req, res);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const answer = await send(`http://127.0.0.1:${port}/pets?limit=2`);
      expect(answer.json).toEqual({ ip: '127.0.0.1', path: '/pets', ofApp: true });
      expect(ofApp).toEqual([true, true, true, true]);
    } finally {
      server.close();
    }
  },
);
