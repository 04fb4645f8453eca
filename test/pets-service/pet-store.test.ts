import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPetStore, type PetStore } from '../../pets-service/database/pet-store.ts';
import { migrate } from '../../prisma/migrate.ts';
import { onePool, petsDatabases, type PetsDatabase } from '../support/kits/pets-kit.ts';

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

    const create = (name: string) => store.create({ name, categoryId: 1n, status: 'available' });

    test('create and find one pet each, or none, even if another pet cannot be read', async () => {
      const [rex, mia] = await Promise.all([create('Rex'), create('Mia')]);
      const found = await Promise.all([mia.id, 4711n, rex.id, mia.id].map((id) => store.find(id)));
      expect(found).toEqual([mia, null, rex, mia]);
      await database.query(`ALTER TYPE "PetStatus" ADD VALUE 'reserved'`);
      await database.query(`UPDATE pets SET status = 'reserved' WHERE id = ${rex.id}`);
      const [other, unreadable] = await Promise.allSettled([store.find(mia.id), store.find(rex.id)]);
      expect(other).toEqual({ status: 'fulfilled', value: mia });
      expect(unreadable.status).toBe('rejected');
    });
  });
