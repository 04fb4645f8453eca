import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { issueServiceToken, loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { postJson, send } from '../support/http/http.ts';
import { copyRelease } from '../support/kits/release-copy.ts';
import { runProgram, startPetsService, type Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startLoad, type SteadyLoad } from '../support/load/steady-load.ts';
import { createDatabase } from '../support/stores/stores.ts';

const insertion = 'pet.create({ data })';

/**
 * Three releases on one database: the first (this checkout), a second whose pets have a note, and a third without it. The
 * third is this checkout as well, because it has to do without the column before the column is removed.
 */
describe('a rolling upgrade of the pets service', { tags: ['postgresql'], timeout: 120_000 }, () => {
  const directory = shared(temporaryDirectory);
  const withNote = shared(copyRelease);
  const stack = shared(() => Promise.resolve(new AsyncDisposableStack()));
  let url: string;
  let env: Record<string, string>;
  let key: string;
  let first: Service;
  let second: Service;

  beforeAll(async () => {
    url = await createDatabase();
    env = { DATA_DIR: directory.path, DATABASE_URL: url, DEMO: 'false' };
    await runProgram(['prisma/migrate.ts'], { DATABASE_URL: url });
    first = stack.use(await startPetsService(env));
    key = issueServiceToken(loadPrivateKey(undefined, directory.path), 'tests', 600, 'pets-service');

    const default_ = '@default(available)\n';
    await withNote.edit('prisma/schema.prisma', default_, `${default_}  note String @default("")\n`);
    const insertionWithNote = "pet.create({ data: { ...data, note: 'new' } })";
    await withNote.edit('pets-service/database/pet-store.ts', insertion, insertionWithNote);
    await withNote.addMigration('20991231000000_add_note', addNote);
    withNote.generate();
  });

  const addNote = `ALTER TABLE "pets" ADD COLUMN "note" TEXT NOT NULL DEFAULT '';\n`;
  const create = (service: Service, headers = {}) =>
    postJson(`${service.url}/v1/pets`, key, { name: 'Rex', categoryId: 1 }, headers);
  const ready = async (service: Service) => (await send(`${service.url}/readyz`)).json;

  /** Statuses of a create, its retry on the next service, a plain create, a single pet and a list, round after round. */
  function startTraffic(...services: Service[]): SteadyLoad<string> {
    return startLoad(2 * services.length, async (client) => {
      const [one = first, other = one] = client % 2 === 0 ? services : services.toReversed();
      const headers = { 'Idempotency-Key': randomUUID() };
      const created = await create(one, headers);
      const responses = [created, await create(other, headers), await create(one)];
      for (const path of [created.header('Location') ?? '', '/v1/pets?status=available&limit=5']) {
        responses.push(await send(`${other.url}${path}`, { key }));
      }
      return responses.map(({ status }) => status).join(' ');
    });
  }
  const served = new Set(['201 201 201 200 200']);
  /** Lets some more requests through. */
  const more = (load: SteadyLoad<string>, count = 20) => {
    const before = load.outcomes.length;
    return expect.poll(() => load.outcomes.length).toBeGreaterThan(before + count);
  };

  test('expand: the column is added under load, and both releases serve at once', async () => {
    await using load = startTraffic(first);
    await more(load);
    expect(await withNote.migrate(url)).toMatchObject({
      code: 0,
      stdout: 'applied 20991231000000_add_note\n',
    });
    await more(load);
    second = stack.use(await withNote.start(env));
    await expect.poll(() => ready(second)).toEqual({ status: 'ok', database: 'ok' });
    await using both = startTraffic(first, second);
    await more(both);
    expect(new Set([...(await load.stop()), ...(await both.stop())])).toEqual(served);
    // Each reads what the other one has written.
    for (const [writer, reader] of [
      [first, second],
      [second, first],
    ] as const) {
      const created = await create(writer);
      const path = created.header('Location') ?? '';
      expect((await send(`${reader.url}${path}`, { key })).json).toEqual(created.json);
    }
  });

  test('contract: the column is removed when no instance uses it, under load', async () => {
    await using third = await startPetsService(env);
    await expect.poll(() => ready(third)).toEqual({ status: 'ok', database: 'ok' });
    await using both = startTraffic(second, third);
    await more(both);
    expect(new Set(await both.stop())).toEqual(served);

    await using load = startTraffic(third);
    await more(load);
    await withNote.addMigration('20991231000001_drop_note', 'ALTER TABLE "pets" DROP COLUMN "note";\n');
    expect(await withNote.migrate(url)).toMatchObject({
      code: 0,
      stdout: 'applied 20991231000001_drop_note\n',
    });
    await more(load);
    expect(new Set(await load.stop())).toEqual(served);
    // Why the order matters: a release that uses the column cannot serve any more, nor start.
    expect((await create(second)).status).toBe(503);
    await using late = await withNote.start(env);
    expect(await ready(late)).toEqual({ status: 'starting', database: 'unavailable' });
  });
});
