import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Response } from 'express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpServer } from '../../pets-service/http.ts';
import { openRawConnection, statusesOf } from '../support/http/raw-connection.ts';
import { valuesOf } from '../support/http/strict-http.ts';

describe('the HTTP server of the pets service', () => {
  let server: Server;
  let port: number;
  const held: Response[] = [];

  beforeAll(async () => {
    const app = express();
    app.get('/held', (_req, res) => void held.push(res));
    app.get('/', (_req, res) => void res.json([]));
    const timeouts = { headersTimeoutMs: 10_000, requestTimeoutMs: 10_000, keepAliveTimeoutMs: 10_000 };
    ({ server } = createHttpServer(app, timeouts));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });

  afterAll(() => server.close());

  test('responds to a caller that ends its side after its requests', async () => {
    const accepted = once(server, 'connection');
    const connection = openRawConnection(port);
    const [socket] = (await accepted) as [NodeJS.EventEmitter];
    const ended = once(socket, 'end');
    connection.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2));
    connection.end();
    await ended;
    for (const res of held.splice(0)) res.json([]);
    expect(statusesOf(await connection.responses)).toEqual([200, 200]);
  });

  test('closes a connection on which Upgrade was sent after the response', async () => {
    const connection = openRawConnection(port);
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
    connection.write(`GET / HTTP/1.1\r\nHost: x\r\n${upgrade}\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n`);
    const responses = await connection.responses;
    expect(statusesOf(responses)).toEqual([200]);
    expect(valuesOf(responses[0]?.headers ?? [], 'connection')).toEqual(['close']);
  });
});
