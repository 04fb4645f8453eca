import { z } from 'zod';
import { byKind, type RecordFields } from '../limits/record-fields.ts';
import type { OptionForm } from './operation.ts';

const textOrNull = z.string().nullable();

/** Schemas of fields as people see them. */
export const fieldViews = <Of extends RecordFields>(fields: Of) =>
  byKind(fields, {
    text: ({ meaning }) => textOrNull.describe(meaning),
    time: () => textOrNull,
    scopes: () =>
      z.array(z.string()).nullable().describe('Scopes of the operations that it may call; null for all'),
  });

/** What a schema shows of a record, with null for what the record does not have. */
export function viewOf<Schema extends z.ZodObject>(schema: Schema, record: object): z.output<Schema> {
  const values = new Map<string, unknown>(Object.entries(record));
  return schema.parse(
    Object.fromEntries(Object.keys(schema.shape).map((name) => [name, values.get(name) ?? null])),
  );
}

/** Options of the command that change fields. */
export const fieldOptions = <Of extends RecordFields>(fields: Of): { [Name in keyof Of]: OptionForm } =>
  byKind(fields, {
    text: (): OptionForm => ({ nothing: 'none' }),
    time: ({ meaning }, name): OptionForm => ({
      flags: `--${name.replace(/At$/, '')} <time>`,
      says: `${meaning}, ISO 8601, or a duration such as 90d, or "never"`,
      nothing: 'never',
      from: 'time',
    }),
    scopes: ({ meaning }): OptionForm => ({ says: `${meaning}, or "all"`, nothing: 'all' }),
  });

/** Columns of a table, by their headings. */
export function columnsOf<Of extends RecordFields>(fields: Of): Record<string, keyof Of & string>;
export function columnsOf(fields: RecordFields): object {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, { column }]) => (column === undefined ? [] : [[column, name]])),
  );
}

/** Fields of a CSV, of which columns are never moved. @param first those that it had at first, in their order; others come after them */
export function csvOf<Name extends string>(names: readonly Name[], first: string): Name[] {
  const order = first.split(' ');
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names.toSorted((one, other) => rank(one) - rank(other));
}

/** A record after a change: undefined leaves a field as it is, null removes it. */
export function withChange<Fields extends object>(
  record: Fields,
  change: {
    [Name in keyof Fields]?: Fields[Name] | (undefined extends Fields[Name] ? null : never) | undefined;
  },
): Fields {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...record, ...Object.fromEntries(given.map(([name, value]) => [name, value ?? undefined])) };
}
