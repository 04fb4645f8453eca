import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import { expect, test } from 'vitest';
import { migrate } from '../../../prisma/migrate.ts';
import { codeBlock } from '../../support/code-block.ts';
import { postJson, send } from '../../support/http/http.ts';
import { keyIssuer, startRedisClient } from '../../support/kits/keys.ts';
import { servePets } from '../../support/kits/pets-kit.ts';
import { startGateway } from '../../support/kits/service.ts';
import { temporaryDirectory } from '../../support/kits/temporary-directory.ts';

type FindPets = (ids: ReadonlySet<string>, url: string, key: string) => Promise<unknown[]>;

test(
  'after the sunset of getPet, clients find pets by their ids as CLIENTS.md says',
  { timeout: 120_000 },
  async () => {
    await using directory = await temporaryDirectory();
    await using redis = await startRedisClient();
    const database = await PGlite.create();
    await migrate(new PrismaPGlite(database));
    // The gateway makes the keys of the internal token that the pets service needs.
    const env = { REDIS_URL: redis.url, DATA_DIR: directory.path };
    await using first = await startGateway(env);
    expect(first.port).toBeGreaterThan(0);
    const publicKey = createPublicKey(readFileSync(join(directory.path, 'internal-token', 'public.pem')));
    let clock = Date.now();
    await using pets = await servePets(new PrismaPGlite(database), { publicKey, now: () => clock });
    await using gateway = await startGateway({ ...env, PETS_SERVICE_URL: pets.url });
    const { key } = await keyIssuer(redis).issue({ plan: 'business' });
    const url = `${gateway.url}/v1/pets`;
    await database.exec(`INSERT INTO pets (id, name, category_id, status)
    SELECT id, 'Pet ' || id, 9007199254740993, 'available' FROM generate_series(1, 250) AS id`);
    await database.exec(`INSERT INTO pets VALUES (9007199254740993, 'Last', 1, 'sold')`);
    await database.exec(`SELECT setval('pets_id_seq', 250)`);
    expect((await send(`${url}/7`, { key })).status).toBe(200);

    clock = Date.UTC(2030, 11, 5);
    expect((await send(`${url}/7`, { key })).status).toBe(410);
    const created = await postJson(url, key, { name: 'New', categoryId: 1 }, { 'idempotency-key': '"new"' });
    expect(created.status).toBe(201);
    expect(created.header('Location')).toBeUndefined();

    const recipe = join(directory.path, 'find-pets.ts');
    await writeFile(
      recipe,
      (await codeBlock('gateway/CLIENTS.md', 'ts', 'function fetchWithStringIds')) +
        (await codeBlock('gateway/CLIENTS.md', 'ts', 'function findPets')),
    );
    const { findPets } = (await import(pathToFileURL(recipe).href)) as { findPets: FindPets };
    const wanted = ['7', '100', '101', '9007199254740992', '9007199254740993'];
    const [seventh, hundredth, next, last, ...more] = await findPets(new Set(wanted), gateway.url, key);
    expect(seventh).toEqual({ id: '7', name: 'Pet 7', categoryId: '9007199254740993', status: 'available' });
    expect(hundredth).toMatchObject({ id: '100' });
    expect(next).toMatchObject({ id: '101' });
    expect(last).toEqual({ id: '9007199254740993', name: 'Last', categoryId: '1', status: 'sold' });
    expect(more).toEqual([]);
    // The walk ends at the page of the last id that is wanted.
    expect(await findPets(new Set(['100']), gateway.url, key)).toMatchObject([{ id: '100' }]);
  },
);
