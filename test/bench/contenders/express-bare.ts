import { Agent } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';

/** Common starting point: Express and http-proxy-middleware with its built-in transport. */
const app = express();
app.disable('x-powered-by').disable('etag');
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
app.use(createProxyMiddleware({ target: process.env['UPSTREAM'] ?? '', agent }));
app.listen(Number(process.env['PORT']), '127.0.0.1');
