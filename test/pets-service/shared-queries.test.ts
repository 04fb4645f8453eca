import type { SqlQuery } from '@prisma/driver-adapter-utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPetStore, type PetStore } from '../../pets-service/pet-store.ts';
import type { NewPet } from '../../pets-service/pet.ts';
import { migrate } from '../../prisma/migrate.ts';
import { petsDatabases } from '../support/pets-kit.ts';
import { recordQueries } from '../support/recorded-queries.ts';

/** Requests that arrive together share queries. What each of them is told must be what it would be told alone. */
describe.each(petsDatabases)('requests that arrive together, on $name', ({ missing, open }) => {
  const onDatabase = test.skipIf(missing !== undefined);
  const queries: SqlQuery[] = [];
  let store: PetStore;
  let stack: AsyncDisposableStack;

  beforeAll(async () => {
    if (missing !== undefined) return;
    await using starting = new AsyncDisposableStack();
    const database = starting.use(await open());
    await migrate(database.adapter());
    store = createPetStore(recordQueries(database.adapter(), queries));
    starting.defer(() => store.close());
    stack = starting.move();
  });

  afterAll(() => stack?.disposeAsync());

  const pet = (name: string, categoryId = 1n): NewPet => ({ name, categoryId, status: 'available' });
  const all = { limit: 100, status: undefined, afterId: undefined };

  const few = [
    pet('Rex'),
    pet('Mia', 2n),
    pet('Rex'),
    pet('Rex', 3n),
    { ...pet('Rex'), status: 'sold' as const },
  ];
  const statements = [
    { many: 'a few', wanted: few, number: few.length },
    { many: 'many', wanted: [...few, ...few], number: 1 },
  ];

  onDatabase.each(statements)('create one pet each: $many', async ({ wanted, number }) => {
    queries.length = 0;
    const created = await Promise.all(wanted.map((one) => store.create(one)));
    expect(queries).toHaveLength(number);
    expect(created.map(({ id: _id, ...content }) => content)).toEqual(wanted);
    expect(new Set(created.map(({ id }) => id)).size).toBe(wanted.length);
    for (const one of created) expect(await store.find(one.id)).toEqual(one);
  });

  onDatabase('find one pet each, or none, by one statement', async () => {
    const [rex, mia] = [await store.create(pet('Rex')), await store.create(pet('Mia'))];
    queries.length = 0;
    const found = await Promise.all([mia.id, 4711n, rex.id, mia.id].map((id) => store.find(id)));
    expect(queries).toHaveLength(1);
    expect(found).toEqual([mia, undefined, rex, mia]);
  });

  onDatabase('list the same page by one statement, and another one by another', async () => {
    await store.create(pet('Rex'));
    queries.length = 0;
    const [page, same, other] = await Promise.all([
      store.list(all),
      store.list({ ...all }),
      store.list({ ...all, limit: 1 }),
    ]);
    expect(queries).toHaveLength(2);
    expect(same).toEqual(page);
    expect(other).toEqual({ pets: page?.pets.slice(0, 1), more: true });
  });

  onDatabase('see what was stored before they came, even while an older list is under way', async () => {
    const older = store.list(all);
    const created = await store.create(pet('Seen'));
    expect((await store.list({ ...all, afterId: created.id - 1n })).pets).toEqual([created]);
    expect((await older).pets.length).toBeGreaterThan(0);
  });
});
