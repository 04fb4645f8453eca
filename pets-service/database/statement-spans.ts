import type { Attributes, Span } from '@opentelemetry/api';
import { activeSpan, measureSpan, type Tracing } from '#runtime/tracing.ts';

/** What a statement does, in the terms of OpenTelemetry's conventions for databases. */
export interface Statement {
  operation: 'SELECT' | 'INSERT';
  table: 'pets' | 'idempotency_keys';
}

/** Spans of what requests do with the database. Statements themselves are not recorded: they hold no values, but are long. */
export interface StatementSpans {
  /** Runs a step of the active request, with the time that it waits for a connection. */
  step<T>(name: string, run: () => Promise<T>): Promise<T>;
  /** Runs a statement. @param callers spans of the steps that share it, undefined for a step without one */
  statement<T>(
    statement: Statement,
    callers: readonly (Span | undefined)[],
    run: () => Promise<T>,
  ): Promise<T>;
}

/**
 * @param tracing undefined if no traces are exported
 * @param url of the database; undefined for the embedded one
 */
export function createStatementSpans(tracing?: Tracing, url?: string): StatementSpans {
  if (tracing === undefined)
    return { step: (_name, run) => run(), statement: (_statement, _callers, run) => run() };
  const server = serverAttributes(url);

  return {
    step(name, run) {
      const request = activeSpan();
      if (request === undefined) return run();
      return measureSpan(tracing, tracing.startInternalSpan(name, {}, request), run);
    },
    statement({ operation, table }, callers, run) {
      const [first, ...others] = callers.filter((span) => span !== undefined);
      if (first === undefined) return run();
      const summary = `${operation} ${table}`;
      const attributes: Attributes = {
        ...server,
        'db.operation.name': operation,
        'db.collection.name': table,
        'db.query.summary': summary,
      };
      if (others.length > 0) attributes['db.operation.batch.size'] = others.length + 1;
      return measureSpan(tracing, tracing.startClientSpan(summary, attributes, [first, ...others]), run);
    },
  };
}

function serverAttributes(url: string | undefined): Attributes {
  const system = { 'db.system.name': 'postgresql' };
  if (url === undefined) return system;
  const { hostname, port, pathname } = new URL(url);
  return {
    ...system,
    'db.namespace': pathname.slice(1),
    'server.address': hostname,
    'server.port': Number(port) || 5432,
  };
}
