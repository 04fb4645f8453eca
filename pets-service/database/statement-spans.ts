import type { Attributes, Span } from '@opentelemetry/api';
import { errorTypeOf, type Tracing } from '#runtime/tracing.ts';

/** What a statement does, in the terms of OpenTelemetry's conventions for databases. */
export interface Statement {
  operation: 'SELECT' | 'INSERT';
  table: 'pets' | 'idempotency_keys';
}

/** Spans of what requests do with the database. Statements themselves are not recorded: they hold no values, but are long. */
export interface StatementSpans {
  /** Runs a step of a request, with the time that it waits for a connection. @param parent span of the request */
  step<T>(name: string, parent: Span, run: (span: Span) => Promise<T>): Promise<T>;
  /** Runs a statement. @param steps spans of the steps that share it */
  statement<T>(statement: Statement, steps: readonly Span[], run: () => Promise<T>): Promise<T>;
}

/** @param url of the database; undefined for the embedded one */
export function createStatementSpans(tracing: Tracing, url: string | undefined): StatementSpans {
  const server = serverAttributes(url);

  async function runIn<T>(span: Span, run: (span: Span) => Promise<T>): Promise<T> {
    try {
      return await run(span);
    } catch (error) {
      tracing.fail(span, errorTypeOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  return {
    step: (name, parent, run) => runIn(tracing.startInternalSpan(name, {}, parent), run),
    statement({ operation, table }, [first, ...others], run) {
      if (first === undefined) return run();
      const summary = `${operation} ${table}`;
      const attributes: Attributes = {
        ...server,
        'db.operation.name': operation,
        'db.collection.name': table,
        'db.query.summary': summary,
      };
      if (others.length > 0) attributes['db.operation.batch.size'] = others.length + 1;
      return runIn(tracing.startClientSpan(summary, attributes, [first, ...others]), run);
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
