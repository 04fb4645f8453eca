import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * A receiver of webhooks as a process of its own. The path says how it behaves; it tells the test of each request.
 * /flaky/N fails N times for each event, /status/N/SECONDS responds with that status and Retry-After.
 */
const failures = new Map<string, number>();

function respond(res: ServerResponse, path: string, id: string): void {
  const [, kind, count = '0', retryAfter] = path.split('/').map(decodeURIComponent);
  switch (kind) {
    case 'fail':
      return void res.writeHead(500).end('no');
    case 'hang':
      return;
    case 'flood':
      res.writeHead(200);
      return void setInterval(() => res.write('x'.repeat(65_536)), 1).unref();
    case 'redirect':
      return void res.writeHead(307, { location: '/ok' }).end();
    case 'status':
      return void res
        .writeHead(Number(count), retryAfter === undefined ? {} : { 'retry-after': retryAfter })
        .end();
    case 'slow':
      return void setTimeout(() => res.writeHead(204).end(), 300);
    case 'flaky': {
      const failed = failures.get(id) ?? 0;
      failures.set(id, failed + 1);
      return void res.writeHead(failed < Number(count) ? 503 : 200).end();
    }
    default:
      res.writeHead(200).end('ok');
  }
}

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const { url = '', headers } = req;
    process.send?.({ url, headers, body: Buffer.concat(chunks).toString() });
    respond(res, url, String(headers['webhook-id']));
  });
  res.on('error', () => {});
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());
