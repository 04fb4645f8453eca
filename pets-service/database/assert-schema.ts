import type { Connections } from './connections.ts';
import { isSchemaError, SchemaError } from './database-error.ts';

/** Everything that this service does with tables. */
const tablePrivileges = {
  pets: ['SELECT', 'INSERT'],
  idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
};

/** @throws SchemaError if a table, a column or a privilege is missing; Prisma's error otherwise */
export async function assertSchema(connections: Connections): Promise<void> {
  try {
    await useSchema(connections);
  } catch (error) {
    if (!isSchemaError(error)) throw error;
    throw new SchemaError('database schema is missing or out of date; run npm run migrate', { cause: error });
  }
}

/** Needs all that the statements of this service need. */
async function useSchema({ run }: Connections): Promise<void> {
  // Model calls select all columns. No row can match.
  await run('SELECT pets', ({ pet }) => pet.findFirst({ where: { id: 0n } }));
  await run('SELECT idempotency_keys', ({ idempotencyKey }) =>
    idempotencyKey.findFirst({ where: { issuer: '' } }),
  );
  const lacking = await run(
    'SELECT pets',
    (prisma) => prisma.$queryRaw<{ lacking: string }[]>`
      SELECT privilege || ' on ' || relation AS lacking
      FROM jsonb_each(${JSON.stringify(tablePrivileges)}::jsonb) AS needed (relation, privileges),
        jsonb_array_elements_text(privileges) AS privilege
      WHERE NOT has_table_privilege(relation, privilege)
      UNION ALL
      SELECT 'USAGE on pets_id_seq' WHERE NOT has_sequence_privilege('pets_id_seq', 'USAGE')`,
  );
  if (lacking.length === 0) return;
  throw new SchemaError(`the role lacks ${lacking.map((row) => row.lacking).join(', ')}`);
}
