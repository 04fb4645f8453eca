import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createPetStore } from '../../pets-service/database/pet-store.ts';
import { migrate } from '../../prisma/migrate.ts';
import { onePool, petsDatabases } from '../support/kits/pets-kit.ts';
import { shared } from '../support/kits/shared.ts';

for (const { open, name, tags } of petsDatabases)
  describe(`concurrent requests on ${name}`, { tags }, () => {
    const database = shared(open);
    const store = shared(
      async () => {
        await migrate(database.adapter());
        return createPetStore(onePool(database.adapter()), pino({ level: 'silent' }));
      },
      async (opened) => {
        await opened.close();
      },
    );
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
