import { createServer } from 'node:http';
import { z } from 'zod';
import { recordOutput } from '../checks/evidence.ts';
import { close, listen } from '../http/listening.ts';

const anyValue = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
});

const attributes = z.array(z.object({ key: z.string(), value: anyValue })).transform((list) =>
  Object.fromEntries(
    list.map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue } = value;
      return [key, stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue))];
    }),
  ),
);

/** An export request of OTLP/HTTP in JSON. */
const exportRequest = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.number(),
              attributes: attributes.default({}),
              status: z
                .object({ code: z.number().default(0), message: z.string().optional() })
                .default({ code: 0 }),
            }),
          ),
        }),
      ),
    }),
  ),
});

type Exported = z.infer<typeof exportRequest>['resourceSpans'][number];

export type CollectedSpan = Exported['scopeSpans'][number]['spans'][number] & {
  service: string;
  /** Attributes of the process. */
  resource: Exported['resource']['attributes'];
};

export interface TraceCollector extends AsyncDisposable {
  /** Settings with which a service exports its traces here. */
  env: Record<string, string>;
  spans: CollectedSpan[];
  /** Bodies as received. */
  bodies: Buffer[];
  /** Spans of a trace as lines, a child indented under its parent: `service: name`. */
  tree(traceId: string): string[];
  /** Status of the responses to exports; undefined for none at all. */
  status: number | undefined;
}

/** Starts a collector of OpenTelemetry's protocol over HTTP. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: TraceCollector['bodies'] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks);
      bodies.push(body);
      recordOutput(body.toString());
      spans.push(...parseSpans(body));
      if (collector.status === undefined) return;
      res.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const port = await listen(server);

  function treeOf(traceId: string): string[] {
    const among = spans.filter((span) => span.traceId === traceId);
    const ids = new Set(among.map(({ spanId }) => spanId));
    const lines: string[] = [];
    function add(span: CollectedSpan, depth: number): void {
      lines.push(`${'  '.repeat(depth)}${span.service}: ${span.name}`);
      for (const child of among) if (child.parentSpanId === span.spanId) add(child, depth + 1);
    }
    for (const span of among) if (!ids.has(span.parentSpanId ?? '')) add(span, 0);
    return lines;
  }

  const collector: TraceCollector = {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
    spans,
    bodies,
    tree: treeOf,
    status: 200,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await close(server);
    },
  };
  return collector;
}

function parseSpans(body: Buffer): CollectedSpan[] {
  return exportRequest.parse(JSON.parse(body.toString())).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service: String(resource.attributes['service.name']),
        resource: resource.attributes,
      })),
    ),
  );
}
