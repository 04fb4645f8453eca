import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * A receiver of webhooks as a process of its own. The path says how it behaves; it tells the test of each request.
 * /flaky/N fails N times for each event, /order/… responds late to some,
 * /redirect/STATUS/URL redirects, with 302 to /ok if nothing else is said, /loop to itself.
 */
const failures = new Map<string, number>();

function respond(res: ServerResponse, path: string, id: string): void {
  const [, kind, count = '0', target = '/ok'] = path.split('/').map(decodeURIComponent);
  switch (kind) {
    case 'fail':
      return void res.writeHead(500).end('no');
    case 'hang':
      return;
    case 'flood':
      res.writeHead(200);
      return void setInterval(() => res.write('x'.repeat(65_536)), 1).unref();
    case 'redirect':
      return void res.writeHead(Number(count) || 302, { location: target }).end();
    case 'loop':
      return void res.writeHead(308, { location: path }).end();
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
