import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { recordOutput } from '../checks/evidence.ts';
import { close, listen } from '../http/listening.ts';

/** A list of names with values by their type, as in OTLP/HTTP. */
type Encoded = { key: string; value: Record<string, unknown> }[];
type Attributes = Record<string, unknown>;

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  status?: { code?: number };
}

/** An export request of OTLP/HTTP in JSON. */
interface ExportRequest {
  resourceSpans: {
    resource: { attributes: Encoded };
    scopeSpans: { spans: (Span & { attributes?: Encoded })[] }[];
  }[];
}

export interface CollectedSpan extends Span {
  attributes: Attributes;
  service: string;
  /** Attributes of the process. */
  resource: Attributes;
}

const decode = (list: Encoded = []): Attributes =>
  Object.fromEntries(
    list.map(({ key, value: { intValue, ...other } }) => [
      key,
      intValue === undefined ? Object.values(other)[0] : Number(intValue),
    ]),
  );

/** Starts a collector of OpenTelemetry's protocol over HTTP. */
export async function startTraceCollector() {
  const spans: CollectedSpan[] = [];
  /** As received. */
  const bodies: string[] = [];
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      bodies.push(body);
      recordOutput(body);
      spans.push(...parseSpans(body));
      if (collector.status === undefined) return;
      res.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const port = await listen(server);
  const collector = {
    /** Settings with which a service exports its traces here. */
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
    spans,
    bodies,
    /** Spans of a trace as lines, a child indented under its parent: `service: name`. */
    tree(traceId: string): string[] {
      const among = spans.filter((span) => span.traceId === traceId);
      const ids = new Set(among.map(({ spanId }) => spanId));
      const linesOf = (span: CollectedSpan, indent: string): string[] => [
        `${indent}${span.service}: ${span.name}`,
        ...among
          .filter(({ parentSpanId }) => parentSpanId === span.spanId)
          .flatMap((child) => linesOf(child, `${indent}  `)),
      ];
      return among
        .filter(({ parentSpanId = '' }) => !ids.has(parentSpanId))
        .flatMap((root) => linesOf(root, ''));
    },
    /** Status of the responses to exports; undefined for none at all. */
    status: 200 as number | undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await close(server);
    },
  };
  return collector;
}

function parseSpans(body: string): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(body) as ExportRequest;
  return resourceSpans.flatMap(({ resource: { attributes }, scopeSpans }) => {
    const resource = decode(attributes);
    return scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) =>
        Object.assign(span, {
          attributes: decode(span.attributes),
          status: { code: 0, ...span.status },
          service: String(resource['service.name']),
          resource,
        }),
      );
  });
}
