import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { send, type ClientResponse } from '../support/http/http.ts';
import { keyIssuer, startRedisClient } from '../support/kits/keys.ts';
import { runProgram, startGateway, startPetsService } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createDatabase } from '../support/stores/stores.ts';
import { startBreakingRelay, type BreakingRelay } from '../support/upstreams/breaking-relay.ts';

const creates = 1000;
const concurrentClients = 20;
const maxAttempts = 200;

/** Starts a relay to a local server; `url` is the server's URL through the relay. */
async function relayTo(url: string, odds: number, random: () => number) {
  const relay = await startBreakingRelay({ port: Number(new URL(url).port), odds, random });
  return { relay, url: Object.assign(new URL(url), { port: String(relay.port) }).href.replace(/\/$/, '') };
}

const countBroken = ({ broken }: BreakingRelay) =>
  Object.values(broken).reduce((sum, count) => sum + count, 0);

describe('connections that break at random', { tags: ['postgresql'] }, () => {
  test(
    '1,000 creates, each retried with its idempotency key until it gets 201, create exactly 1,000 pets',
    { timeout: 120_000 },
    async () => {
      const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000_000);
      console.info(`connections break at random; repeat with TEST_SEED=${seed}`);
      // The run is not reproducible, because it depends on timing as well.
      const random = seededRandom(seed);
      await using stack = new AsyncDisposableStack();
      const directory = stack.use(await temporaryDirectory());
      const redis = stack.use(await startRedisClient());
      const databaseUrl = await createDatabase();
      expect(await runProgram(['prisma/migrate.ts'], { DATABASE_URL: databaseUrl })).toMatchObject({
        code: 0,
      });

      // Relays between client and gateway, gateway and pets service, pets service and PostgreSQL.
      const toPostgres = await relayTo(databaseUrl, 0.01, random);
      stack.use(toPostgres.relay);
      const shared = { DATA_DIR: directory.path, DEMO: 'false', LOG_LEVEL: 'fatal' };
      const petsService = stack.use(await startPetsService({ ...shared, DATABASE_URL: toPostgres.url }));
      const toPetsService = await relayTo(petsService.url, 0.03, random);
      stack.use(toPetsService.relay);
      const gateway = stack.use(
        await startGateway({ ...shared, REDIS_URL: redis.url, PETS_SERVICE_URL: toPetsService.url }),
      );
      const toGateway = await relayTo(gateway.url, 0.1, random);
      stack.use(toGateway.relay);
      const limits = { plan: 'enterprise', minute: 1_000_000, day: 1_000_000 };
      const { key } = await keyIssuer(redis).issue(limits);

      const errorResponses: ClientResponse[] = [];
      let lostResponses = 0;

      /** Retries as a client should, but sooner than the second in `Retry-After`, to shorten the test. */
      async function create(number: number): Promise<ClientResponse> {
        for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
          const response = await send(`${toGateway.url}/v1/pets`, {
            method: 'POST',
            key,
            headers: { 'content-type': 'application/json', 'idempotency-key': `"create-${number}"` },
            body: JSON.stringify({ name: `Pet ${number}`, categoryId: number }),
          }).catch(() => undefined);
          if (response?.status === 201) return response;
          if (response === undefined) lostResponses += 1;
          else errorResponses.push(response);
          await sleep(10 + 40 * Math.random());
        }
        throw new Error(`create ${number} got no 201 in ${maxAttempts} attempts`);
      }

      const responses: ClientResponse[] = [];
      let next = 0;
      await Promise.all(
        Array.from({ length: concurrentClients }, async () => {
          for (let number = next++; number < creates; number = next++)
            responses[number] = await create(number);
        }),
      );

      const client = new pg.Client(databaseUrl);
      await client.connect();
      const { rows } = await client.query<{ id: string; name: string; category_id: string }>(
        'SELECT id, name, category_id FROM pets',
      );
      const { rowCount } = await client.query('SELECT 1 FROM idempotency_keys');
      await client.end();
      console.info(`${errorResponses.length} error responses, ${lostResponses} lost responses`);
      for (const { relay } of [toGateway, toPetsService, toPostgres])
        console.info('broken connections:', relay.broken);
      for (const response of errorResponses) {
        expect([409, 502, 503, 504], response.text).toContain(response.status);
        expect(response.header('Retry-After'), response.text).toBe('1');
      }
      expect(rows).toHaveLength(creates);
      expect(rowCount).toBe(creates);
      const byName = new Map(rows.map((row) => [row.name, row]));
      for (const [number, response] of responses.entries()) {
        const { id } = byName.get(`Pet ${number}`) ?? {};
        expect(response.text).toBe(
          `{"id":${id},"name":"Pet ${number}","categoryId":${number},"status":"available"}`,
        );
        expect(response.header('Location')).toBe(`${toGateway.url}/v1/pets/${id}`);
      }
      // Without a break at every point, also after a create was stored, the test would prove nothing.
      expect(Object.values(toGateway.relay.broken).every((count) => count > 0)).toBe(true);
      for (const { relay } of [toPetsService, toPostgres]) expect(countBroken(relay)).toBeGreaterThan(0);
    },
  );
});
