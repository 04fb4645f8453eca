import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';

const insertIntoEmpty = `
  INSERT INTO pets (name, category_id, status)
  SELECT name, category_id, status::"PetStatus" FROM (VALUES
    ('Rex', 1, 'available'),
    ('Mia', 2, 'available'),
    ('Bubbles', 3, 'pending'),
    ('Hector', 4, 'sold'),
    ('Żółw', 5, 'available')
  ) AS demo (name, category_id, status)
  WHERE NOT EXISTS (SELECT FROM pets)`;

/** Adds a few pets to an empty database. @returns the number of added pets */
export async function addDemoPets(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<number> {
  const connection = await adapter.connect();
  try {
    return await connection.executeRaw({ sql: insertIntoEmpty, args: [], argTypes: [] });
  } finally {
    await connection.dispose();
  }
}
