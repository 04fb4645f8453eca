import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sendRaw } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { startReverseProxy } from '../support/kits/reverse-proxy.ts';
import { shared } from '../support/kits/shared.ts';
import type { Http1Case } from './http1-cases.ts';
import { compliance } from './http1-compliance.ts';
import { malformed, normalization } from './http1-malformed.ts';
import { smuggling } from './http1-smuggling.ts';

const groups = { compliance, smuggling, malformed, normalization };

/** Responds to everything with 200, as the service behind nginx does. */
async function startPlainServer(): Promise<Server> {
  const server = createServer(
    { headersTimeout: 800, requestTimeout: 800, connectionsCheckingInterval: 200 },
    (req, res) => {
      req.resume().on('end', () => res.end('[]'));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
const portOf = (server: Server) => (server.address() as AddressInfo).port;

async function statusesOf(port: number, { bytes }: Http1Case, key: string): Promise<string> {
  const received = await sendRaw(port, Buffer.from(bytes(`Authorization: Bearer ${key}`), 'latin1'));
  const statuses = Array.from(received.matchAll(/HTTP\/1\.1 ([2-5]\d\d)/g), ([, status]) => status);
  return statuses.join(',') || '-';
}

describe.each(Object.entries(groups))('HTTP/1.1, %s', (_group, cases) => {
  const stack = new AsyncDisposableStack();
  let kit: GatewayKit;
  let key: string;
  let node: Server;

  beforeAll(async () => {
    kit = stack.use(await startGatewayKit({ REQUEST_TIMEOUT_MS: '800' }));
    ({ key } = await kit.issue({ plan: 'business' }));
    node = await startPlainServer();
    stack.defer(() => void node.close());
  });
  afterAll(() => stack.disposeAsync());

  test.each(cases)('$name', async (each) => {
    expect(await statusesOf(kit.gateway.port, each, key)).toBe(each.gateway);
    expect(kit.upstream.seen.filter(({ url }) => url.includes('hidden'))).toEqual([]);
  });

  test.each(cases)('Node: $name', async (each) => {
    expect(await statusesOf(portOf(node), each, key)).toBe(each.node);
  });

  describe('beside nginx', { tags: ['nginx'] }, () => {
    // Not waited for: connections may be open.
    const service = shared(startPlainServer, (server) => void server.close());
    const proxy = shared(() => startReverseProxy('nginx', portOf(service)));
    test.each(cases)('nginx: $name', async (each) => {
      expect(await statusesOf(proxy.port, each, key)).toBe(each.nginx);
    });
  });
});
