import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import { expect, test } from 'vitest';
import { createMessageClasses } from '../../gateway/http/message-classes.ts';
import { createMessageClasses as createPetsMessageClasses } from '../../pets-service/message-classes.ts';
import { send } from '../support/http.ts';

const services = [
  { service: 'gateway', classesOf: createMessageClasses },
  {
    service: 'pets service',
    classesOf(app: Express) {
      const classes = createPetsMessageClasses();
      classes.adoptBy(app);
      return classes;
    },
  },
];

test.each(services)(
  "$service: requests and responses are an Express app's own before it sees them, and it leaves their prototypes alone",
  async ({ classesOf }) => {
    const app = express();
    app.use((req, res) => {
      res.json({ ip: req.ip, path: req.path, ofApp: req.app === app && res.app === app });
    });
    const ofApp: boolean[] = [];
    const note = (req: IncomingMessage, res: ServerResponse) =>
      ofApp.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response);
    const server = createServer(classesOf(app), (req, res) => {
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
