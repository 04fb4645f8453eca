import type { Attributes } from '@opentelemetry/api';
import { activeSpan, measureSpan, type Tracing } from '#runtime/tracing.ts';

/** Operation and table, the `db.query.summary` of OpenTelemetry's conventions for databases. */
export type StatementSummary = `${'SELECT' | 'INSERT' | 'DELETE'} ${'pets' | 'idempotency_keys'}`;

export type StatementSpans = ReturnType<typeof createStatementSpans>;

/**
 * Spans of what requests do with the database. Statements themselves are not recorded: they hold no values, but are long.
 * @param tracing undefined if no traces are exported
 * @param url of the database; undefined for the embedded one
 */
export function createStatementSpans(tracing?: Tracing, url?: string) {
  const server = url === undefined ? {} : serverAttributes(url);
  return {
    /** Runs a statement of the active request. */
    statement<T>(summary: StatementSummary, run: () => Promise<T>): Promise<T> {
      const request = activeSpan();
      if (tracing === undefined || request === undefined) return run();
      const [operation, table] = summary.split(' ');
      const attributes = {
        ...server,
        'db.system.name': 'postgresql',
        'db.operation.name': operation,
        'db.collection.name': table,
        'db.query.summary': summary,
      };
      return measureSpan(tracing, tracing.startClientSpan(summary, attributes, [request]), run);
    },
  };
}

function serverAttributes(url: string): Attributes {
  const { hostname, port, pathname } = new URL(url);
  return {
    'db.namespace': pathname.slice(1),
    'server.address': hostname,
    'server.port': Number(port) || 5432,
  };
}
