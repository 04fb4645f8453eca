import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect } from 'vitest';
import { postJson, send, type ClientResponse } from '../http/http.ts';
import { connectRedis, keyIssuer } from '../kits/keys.ts';
import { runProgram, startGateway, startPetsService } from '../kits/service.ts';
import { temporaryDirectory } from '../kits/temporary-directory.ts';
import { startPostgresServer, type PostgresServer } from '../stores/postgres-server.ts';
import { startAnyRedis } from '../stores/redis-server.ts';

export interface LoadedRequest {
  /** Name of the pet to create; undefined for a list request. */
  name: string | undefined;
  response: ClientResponse;
  /** Time of performance.now(). */
  sentAt: number;
  ms: number;
}

export interface Load {
  /** Resolves when the latest create and the latest list have succeeded. */
  waitUntilServed(): Promise<void>;
  /** Stops, and resolves with all requests in the order of sending. Rejects if one got no response. */
  stop(): Promise<LoadedRequest[]>;
}

export interface LoadedServices extends AsyncDisposable {
  postgres: PostgresServer;
  load: Load;
  /** Fails if the pets in the database contradict the responses. */
  expectConsistentDatabase(requests: LoadedRequest[]): Promise<void>;
}

const pauseMs = 20;

/** Sends creates and lists in turn, 50 a second, without waiting for responses. */
function startLoad(url: string, key: string): Load {
  const requests: Promise<LoadedRequest>[] = [];
  const stopping = new AbortController();

  async function request(name: string | undefined): Promise<LoadedRequest> {
    const sentAt = performance.now();
    const response = await (name === undefined
      ? send(`${url}/v1/pets?limit=5`, { key })
      : postJson(`${url}/v1/pets`, key, { name, categoryId: 1 }));
    return { name, response, sentAt, ms: performance.now() - sentAt };
  }

  async function run(): Promise<void> {
    for (let number = 0; !stopping.signal.aborted; number += 1) {
      const sent = request(number % 2 ? undefined : `Pet ${number}`);
      // Errors are reported by stop().
      sent.catch(() => {});
      requests.push(sent);
      await sleep(pauseMs);
    }
  }
  const running = run();

  return {
    async waitUntilServed() {
      let served = false;
      while (!served) {
        const last = await Promise.all(requests.slice(-2));
        served = last.every(({ response }) => response.status < 300);
        await sleep(pauseMs * 2);
      }
    },
    async stop() {
      stopping.abort();
      await running;
      return Promise.all(requests);
    },
  };
}

/** Starts a gateway and a pets service on their own PostgreSQL, under load. */
export async function startLoadedServices(): Promise<LoadedServices> {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(await temporaryDirectory());
  const postgres = stack.use(await startPostgresServer());
  const databaseUrl = await postgres.createDatabase('pets');
  expect(await runProgram(['prisma/migrate.ts'], { DATABASE_URL: databaseUrl })).toMatchObject({ code: 0 });
  const redis = stack.use(await startAnyRedis());
  const env = { DATA_DIR: directory.path, DEMO: 'false' };
  const petsService = stack.use(await startPetsService({ ...env, DATABASE_URL: databaseUrl }));
  const gateway = stack.use(
    await startGateway({ ...env, REDIS_URL: redis.url, PETS_SERVICE_URL: petsService.url }),
  );
  const issuer = await connectRedis(redis.url);
  stack.defer(() => issuer.disconnect());
  const { key } = await keyIssuer(issuer).issue({ plan: 'enterprise', minute: 1_000_000, day: 1_000_000 });
  const load = startLoad(gateway.url, key);
  stack.defer(async () => {
    await load.stop().catch(() => {});
  });
  const disposables = stack.move();

  return {
    postgres,
    load,
    async expectConsistentDatabase(requests) {
      const client = new pg.Client(databaseUrl);
      await client.connect();
      const { rows } = await client.query<{ id: string; name: string }>('SELECT id, name FROM pets');
      await client.end();
      const stored = new Map(rows.map(({ id, name }) => [name, Number(id)]));
      expect(stored.size).toBe(rows.length);
      for (const { name, response } of requests) {
        if (name === undefined) continue;
        if (response.status === 201) {
          expect((response.json as { id: number }).id, name).toBe(stored.get(name));
        } else if (response.header('Retry-After') !== undefined) {
          // Otherwise a retry would create it twice.
          expect(stored.has(name), `${name}: ${response.text}`).toBe(false);
        }
      }
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
