import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { pino } from 'pino';
import { ResponseHeaders } from '../../../gateway/platform/http/response.ts';
import { placeholderTarget, undiciTransport } from '../../../gateway/request/proxy-to-service.ts';
import { createTransport } from '../../../gateway/upstream/exchange.ts';
import { addClientHeaders, upstreamRequestHeaders } from '../../../gateway/upstream/headers.ts';
import { createUpstreams } from '../../../gateway/upstream/upstreams.ts';

/** The gateway's own proxy only. Its distance from the gateway is the cost of keys, quotas, headers and log. */
const upstreams = createUpstreams({
  urls: [process.env['UPSTREAM'] ?? ''],
  connections: 256,
  readiness: '/readyz',
  log: pino({ level: 'silent' }),
  onState: () => {},
});
const app = express();
app.disable('x-powered-by').disable('etag');
const transport = createTransport({
  upstreams,
  timeoutMs: 10_000,
  requestHeaders: (req) =>
    upstreamRequestHeaders({
      rawHeaders: req.rawHeaders,
      peerAddress: '127.0.0.1',
      peerIsTrusted: false,
      authorization: 'Bearer none',
      requestId: 'none',
      hasBody: false,
    }),
  requestBody: () => null,
  takeStream: () => () => {},
  responseHeaders(_res, headers) {
    const clientHeaders = new ResponseHeaders();
    addClientHeaders(clientHeaders, headers);
    return clientHeaders;
  },
  onErrorCode: () => {},
  onSettled: () => {},
  checkResponse: () => {},
});
app.use(createProxyMiddleware({ target: placeholderTarget, plugins: [undiciTransport(() => transport)] }));
app.listen(Number(process.env['PORT']), '127.0.0.1');
