import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { recordSecrets, recordUpstreamRequests } from '../checks/evidence.ts';
import { close, listen } from '../http/listening.ts';

export interface ReceivedRequest {
  method: string;
  url: string;
  rawHeaders: string[];
  headers: IncomingMessage['headers'];
  body: string;
}

export interface Upstream extends AsyncDisposable {
  url: string;
  /** Requests received so far with their bodies, except the probes of /readyz. */
  seen: ReceivedRequest[];
  /** Responds to /readyz. */
  readiness: (res: ServerResponse) => void;
  /** Responds to all other requests. */
  response: (req: IncomingMessage, res: ServerResponse, body: string) => void;
  connections(): Promise<number>;
}

/** Responds with an empty list, like the pets service. */
export function respondWithPets(_req: IncomingMessage, res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': 2 }).end('[]');
}

function respondReady(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end('{"status":"ok"}');
}

/** Starts a stand-in for the pets service: an HTTP server whose responses the test sets. */
export async function startUpstream(wantedPort = 0, host = '127.0.0.1'): Promise<Upstream> {
  const seen: ReceivedRequest[] = [];
  const listener: RequestListener = (req, res) => {
    if (req.url === '/readyz') {
      upstream.readiness(res);
      return;
    }
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', () => {});
    req.on('end', () => {
      const { method = '', url = '', rawHeaders, headers } = req;
      const body = Buffer.concat(chunks).toString();
      recordSecrets(headers.authorization ?? '');
      seen.push({ method, url, rawHeaders, headers, body });
      upstream.response(req, res, body);
    });
  };
  const server = createServer(listener);
  const port = await listen(server, wantedPort, host);
  const upstream: Upstream = {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    seen,
    readiness: respondReady,
    response: respondWithPets,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      }),
    async [Symbol.asyncDispose]() {
      recordUpstreamRequests(
        seen.map((req) => [req.method, req.url, ...req.rawHeaders, req.body.slice(0, 4096)].join('\n')),
      );
      server.closeAllConnections();
      await close(server);
    },
  };
  return upstream;
}
