import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';

/** Everything that the pets service does with tables. A migration that adds a table adds its line here. */
export const tablePrivileges = {
  pets: ['SELECT', 'INSERT'],
  idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
};

export const grants = [
  ...Object.entries(tablePrivileges).map(([table, privileges]) => `${privileges.join(', ')} ON ${table}`),
  'USAGE ON SEQUENCE pets_id_seq',
];

/**
 * Lets the role of the pets service use the migrated tables, so that it needs neither to own nor to change them.
 * @throws Error of the database, for example if there is no such role
 */
export async function grantToServiceRole(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  role: string,
): Promise<void> {
  const quoted = `"${role.replaceAll('"', '""')}"`;
  const connection = await adapter.connect();
  try {
    await connection.executeScript(grants.map((grant) => `GRANT ${grant} TO ${quoted};`).join('\n'));
  } finally {
    await connection.dispose();
  }
}
