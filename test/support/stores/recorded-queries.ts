import type {
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
} from '@prisma/driver-adapter-utils';

/** Wraps an adapter so that it records every query sent to the database. */
export function recordQueries(
  factory: SqlMigrationAwareDriverAdapterFactory,
  queries: SqlQuery[],
): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => recordQueriesOf(await factory.connect(), queries),
    connectToShadowDb: () => factory.connectToShadowDb(),
  };
}

function recordQueriesOf(adapter: SqlDriverAdapter, queries: SqlQuery[]): SqlDriverAdapter {
  return new Proxy(adapter, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name === 'queryRaw' || name === 'executeRaw') queries.push(args[0] as SqlQuery);
        return Reflect.apply(value, target, args);
      };
    },
  });
}
