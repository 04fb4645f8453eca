import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endWithBody } from '../../../../../gateway/platform/http/response.ts';

test('a body arrives byte for byte, whatever its length', async () => {
  let body = Buffer.alloc(0);
  const server = createServer((_req, res) => {
    res.writeHead(200, ['Content-Length', String(body.length)]);
    endWithBody(res, body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  // Around the length up to which it is joined with the headers, too.
  const length = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 2040, max: 2056 }));
  await fc.assert(
    fc.asyncProperty(
      length.chain((bytes) => fc.uint8Array({ minLength: bytes, maxLength: bytes })),
      async (bytes) => {
        body = Buffer.from(bytes);
        const response = await fetch(`http://127.0.0.1:${port}/`);
        expect(Buffer.from(await response.arrayBuffer())).toEqual(body);
      },
    ),
  );
  server.closeAllConnections();
  server.close();
});
