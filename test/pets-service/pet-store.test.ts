import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPetStore, type PetStore } from '../../pets-service/database/pet-store.ts';
import type { NewPet } from '../../pets-service/pets/pet.ts';
import { migrate } from '../../prisma/migrate.ts';
import { onePool, petsDatabases, type PetsDatabase } from '../support/kits/pets-kit.ts';

/** Each of several concurrent requests gets the result that it would get alone. */
for (const { open, name, tags } of petsDatabases)
  describe(`concurrent requests on ${name}`, { tags }, () => {
    let database: PetsDatabase;
    let store: PetStore;
    let stack: AsyncDisposableStack;

    beforeAll(async () => {
      await using starting = new AsyncDisposableStack();
      database = starting.use(await open());
      await migrate(database.adapter());
      store = createPetStore(onePool(database.adapter()));
      starting.defer(() => store.close());
      stack = starting.move();
    });

    afterAll(() => stack?.disposeAsync());

    const pet = (name: string, categoryId = 1n): NewPet => ({ name, categoryId, status: 'available' });
    const all = { limit: 100, status: undefined, afterId: undefined };

    const different = [
      pet('Rex'),
      pet('Mia', 2n),
      pet('Rex'),
      pet('Rex', 3n),
      { ...pet('Rex'), status: 'sold' as const },
      pet(String.raw`{"NULL", \\N, \'}`, -(2n ** 63n)),
      pet('NULL', 2n ** 63n - 1n),
    ];

    test.each([1, 2, 100])('create one pet each: %d times', async (times) => {
      const newPets = Array.from({ length: times }, () => different).flat();
      const created = await Promise.all(newPets.map((one) => store.create(one)));
      expect(created.map(({ id: _id, ...content }) => content)).toEqual(newPets);
      expect(new Set(created.map(({ id }) => id)).size).toBe(created.length);
      for (const one of created.slice(0, 10)) expect(await store.find(one.id)).toEqual(one);
    });

    /** Runs the step with a trigger on each insert. @param body PL/pgSQL that sees the pet as NEW */
    async function withTrigger(body: string, step: () => Promise<void>): Promise<void> {
      await database.query(
        `CREATE FUNCTION before_pet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${body} RETURN NEW; END'`,
      );
      await database.query(
        'CREATE TRIGGER before_pet BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION before_pet()',
      );
      try {
        await step();
      } finally {
        await database.query('DROP FUNCTION before_pet() CASCADE');
      }
    }

    const refusals = [
      { how: 'a constraint', body: "IF NEW.name = ''Cat'' THEN NEW.name = NULL; END IF;" },
      { how: 'an exception of a trigger', body: "IF NEW.name = ''Cat'' THEN RAISE ''no cats''; END IF;" },
      {
        how: 'a permission',
        body: "IF NEW.name = ''Cat'' THEN RAISE ''no cats'' USING ERRCODE = ''42501''; END IF;",
      },
    ];

    test.each(refusals)('create the other pets if one is refused by $how', async ({ body }) => {
      const { id: afterId } = await store.create(pet('First'));
      await withTrigger(body, async () => {
        const requested = ['Rex', 'Mia', 'Cat', 'Tom', 'Cat', 'Kim', 'Bob'];
        const outcomes = await Promise.allSettled(requested.map((name) => store.create(pet(name))));
        const names = outcomes.map((outcome) =>
          outcome.status === 'fulfilled' ? outcome.value.name : 'Cat',
        );
        expect(names).toEqual(requested);
        const { pets } = await store.list({ ...all, afterId });
        const created = outcomes.flatMap((outcome) =>
          outcome.status === 'fulfilled' ? [outcome.value] : [],
        );
        expect(pets).toEqual(created.toSorted((a, b) => Number(a.id - b.id)));
      });
    });

    test('return the stored pet if a trigger changes it', async () => {
      await withTrigger('NEW.name = upper(NEW.name);', async () => {
        const [rex, mia] = await Promise.all(['Rex', 'Mia'].map((name) => store.create(pet(name))));
        expect([rex?.name, mia?.name]).toEqual(['REX', 'MIA']);
      });
    });

    test('find one pet each, or none', async () => {
      const [rex, mia] = [await store.create(pet('Rex')), await store.create(pet('Mia'))];
      const found = await Promise.all([mia.id, 4711n, rex.id, mia.id].map((id) => store.find(id)));
      expect(found).toEqual([mia, null, rex, mia]);
    });

    test('list one page each', async () => {
      await Promise.all(different.map((one) => store.create(one)));
      const [page, same, one, sold, pending] = await Promise.all([
        store.list(all),
        store.list({ ...all }),
        store.list({ ...all, limit: 1 }),
        store.list({ ...all, status: 'sold' }),
        store.list({ ...all, status: 'pending' }),
      ]);
      expect(same).toEqual(page);
      expect(one).toEqual({ pets: page.pets.slice(0, 1), more: true });
      expect(sold.pets.length).toBeGreaterThan(0);
      for (const { status } of sold.pets) expect(status).toBe('sold');
      expect(pending).toEqual({ pets: [], more: false });
    });

    test('see pets that were stored before them, even while an older listing is in flight', async () => {
      const older = store.list(all);
      const created = await store.create(pet('Seen'));
      expect((await store.list({ ...all, afterId: created.id - 1n })).pets).toEqual([created]);
      expect((await older).pets.length).toBeGreaterThan(0);
    });

    test('find their pets even if another pet cannot be read', async () => {
      const [rex, mia] = await Promise.all([store.create(pet('Rex')), store.create(pet('Mia'))]);
      await database.query(`ALTER TYPE "PetStatus" ADD VALUE 'reserved'`);
      await database.query(`UPDATE pets SET status = 'reserved' WHERE id = ${rex.id}`);
      const [found, unreadable] = await Promise.allSettled([store.find(mia.id), store.find(rex.id)]);
      expect(found).toEqual({ status: 'fulfilled', value: mia });
      expect(unreadable.status).toBe('rejected');
      await database.query(`UPDATE pets SET status = 'sold' WHERE id = ${rex.id}`);
    });
  });
