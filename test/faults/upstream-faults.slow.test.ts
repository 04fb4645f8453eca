import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maxBufferedBytes } from '../../gateway/upstream/buffered-response.ts';
import { postJson, send, type ClientResponse } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { countOutcomes, startLoad, type SteadyLoad } from '../support/load/steady-load.ts';
import { brokenResponses } from '../support/upstreams/broken-responses.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

const upstreamTimeoutMs = 500;
const message: unknown = expect.any(String);
const expectedBodies = {
  200: [],
  502: { code: 'upstream_error', message, status: 502 },
  504: { code: 'upstream_timeout', message, status: 504 },
};

describe('broken upstream responses', () => {
  let kit: GatewayKit;
  let key: string;
  let pets: string;
  let load: SteadyLoad<number>;

  beforeAll(async () => {
    kit = await startGatewayKit({ UPSTREAM_TIMEOUT_MS: String(upstreamTimeoutMs) });
    ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
    pets = `${kit.gateway.url}/v1/pets`;
    kit.upstream.response = (req, res) => {
      const broken = brokenResponses[Number(/fault=(\d+)/.exec(req.url ?? '')?.[1] ?? -1)];
      if (broken === undefined) respondWithPets(req, res);
      else broken.response(req, res);
    };
    load = startLoad(4, async () => (await send(pets, { key })).status, 5);
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  function expectCompleteResponse(response: ClientResponse, status: 200 | 502 | 504): void {
    expect(response.status).toBe(status);
    expect(response.json).toEqual(expectedBodies[status]);
    expect(response.header('X-RateLimit-Limit')).toBe('1000000');
  }

  test.each(brokenResponses.map((broken, index) => [broken.name, broken.status, index] as const))(
    '%s: GET and POST get %i',
    async (_name, status, index) => {
      const url = `${pets}?fault=${index}`;
      const [getResponse, postResponse] = await Promise.all([
        send(url, { key }),
        postJson(url, key, { name: 'Rex' }),
      ]);
      expectCompleteResponse(getResponse, status);
      expectCompleteResponse(postResponse, status);
      // Leftover bytes on a connection must not become the next response.
      expectCompleteResponse(await send(pets, { key }), 200);
    },
  );

  test('requests without a broken response all succeed', async () => {
    const outcomes = await load.stop();
    expect(outcomes.length).toBeGreaterThan(100);
    expect(countOutcomes(outcomes)).toEqual({ 200: outcomes.length });
  });

  test('a response too large to buffer is cut off when its rest arrives too slowly', async () => {
    kit.upstream.response = ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write(`${(200_000).toString(16)}\r\n${'a'.repeat(200_000)}\r\n`);
      const timer = setInterval(() => socket.write('1\r\na\r\n'), 50);
      socket.once('close', () => clearInterval(timer));
    };
    await expect(send(pets, { key })).rejects.toThrow(/closed|terminated|aborted/);
  });

  test('a response without a length that is too large to buffer is cut off when its connection is reset', async () => {
    kit.upstream.response = ({ socket }) => {
      const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n';
      socket.write(`${head}[${'1,'.repeat(200_000)}1]`, () => setTimeout(() => socket.resetAndDestroy(), 50));
    };
    await expect(send(pets, { key })).rejects.toThrow(/closed|terminated|aborted/);
  });

  test('a large response is not cut off because its client reads slowly', async () => {
    // More than all socket buffers between upstream and client take.
    const parts = 100;
    kit.upstream.response = (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      let remaining = parts;
      const write = () => {
        for (; remaining > 0; remaining -= 1) {
          if (!res.write('a'.repeat(maxBufferedBytes))) {
            remaining -= 1;
            res.once('drain', write);
            return;
          }
        }
        res.end();
      };
      write();
    };
    const response = await request(pets, { headers: { authorization: `Bearer ${key}` } });
    await sleep(4 * upstreamTimeoutMs);
    expect((await response.body.text()).length).toBe(parts * maxBufferedBytes);
  });
});
