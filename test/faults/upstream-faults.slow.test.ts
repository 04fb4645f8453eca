import { beforeAll, describe, expect, test } from 'vitest';
import { postJson, send, type ClientResponse } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { countOutcomes, startLoad, type SteadyLoad } from '../support/load/steady-load.ts';
import { brokenResponses } from '../support/upstreams/broken-responses.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

const upstreamTimeoutMs = 500;
const cutMessage: unknown = expect.stringMatching(/closed|terminated|aborted/);
const message: unknown = expect.any(String);
const expectedBodies = {
  200: [],
  502: { code: 'upstream_error', message, status: 502 },
  504: { code: 'upstream_timeout', message, status: 504 },
};

describe('broken upstream responses', () => {
  let key: string;
  let pets: string;
  let load: SteadyLoad<number>;

  const kit = shared(() => startGatewayKit({ UPSTREAM_TIMEOUT_MS: String(upstreamTimeoutMs) }));
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
    pets = `${kit.gateway.url}/v1/pets`;
    kit.upstream.response = (req, res) => {
      const broken = brokenResponses[Number(/fault=(\d+)/.exec(req.url ?? '')?.[1] ?? -1)];
      if (broken === undefined) respondWithPets(req, res);
      else broken.response(req, res);
    };
    load = startLoad(4, async () => (await send(pets, { key })).status, 5);
  });

  /** What a client gets. */
  const outcomeOf = (response: Promise<ClientResponse>): Promise<unknown[]> =>
    response.then(
      ({ status, json, header }) => [status, json, header('X-RateLimit-Limit')],
      (error: unknown) => ['cut', String(error)],
    );
  const expectedOutcomes = {
    200: [200, expectedBodies[200], '1000000'],
    502: [502, expectedBodies[502], '1000000'],
    504: [504, expectedBodies[504], '1000000'],
    cut: ['cut', cutMessage],
  };

  test.each(brokenResponses.map((broken, index) => [broken.name, broken.status, index] as const))(
    '%s: GET and POST get %s',
    async (_name, status, index) => {
      const url = `${pets}?fault=${index}`;
      const outcomes = await Promise.all([
        outcomeOf(send(url, { key })),
        outcomeOf(postJson(url, key, { name: 'Rex' })),
      ]);
      expect(outcomes).toEqual([expectedOutcomes[status], expectedOutcomes[status]]);
      // Leftover bytes on a connection must not become the next response.
      expect(await outcomeOf(send(pets, { key }))).toEqual(expectedOutcomes[200]);
    },
  );

  test('requests without a broken response all succeed', async () => {
    const outcomes = await load.stop();
    expect(outcomes.length).toBeGreaterThan(100);
    expect(countOutcomes(outcomes)).toEqual({ 200: outcomes.length });
  });

  test('a response that is streamed is cut off when nothing more arrives in time', async () => {
    kit.upstream.response = ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write('1\r\na\r\n');
    };
    await expect(send(pets, { key })).rejects.toThrow(/closed|terminated|aborted/);
  });
});
