import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createMessageClasses } from '#runtime/message-classes.ts';
import express, { type Express, type RequestHandler } from 'express';
import { Counter, Histogram, Registry } from 'prom-client';
import { Bench } from 'tinybench';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { GatewayError } from '../../gateway/errors.ts';
import { ResponseHeaders } from '../../gateway/http/response-headers.ts';
import { createConnectionCredentials, parseCredential } from '../../gateway/journey/authenticate.ts';
import { createRequestMetrics } from '../../gateway/observability/request-metrics.ts';
import { environmentLine, markdownTable, writeResults } from './report.ts';

/*
 * npm run bench:contortions: what each contortion for speed saves, in a process of its own and without a network. The
 * minimum over many short runs hardly depends on what else the machine does.
 */

interface Contortion {
  name: string;
  /** What the source does. */
  kept: () => void;
  /** What it would do without the contortion. */
  plain: () => void;
}

/** Calls in a run: the clock is too coarse for one. */
const calls = 100;
const socket = new Socket();

function incoming(create = IncomingMessage): IncomingMessage {
  return Object.assign(new create(socket), {
    method: 'GET',
    url: '/v1/pets?limit=2',
    headers: { host: 'localhost', authorization: 'Bearer pets_' },
  });
}

/** Runs one request through an app whose last step ends nothing. */
function requestOf(app: Express, { own = true } = {}): () => void {
  const classes = own ? createMessageClasses(app) : {};
  const Request = classes.IncomingMessage ?? IncomingMessage;
  const ResponseClass = classes.ServerResponse ?? ServerResponse;
  return () => {
    const req = incoming(Request);
    app(req, new ResponseClass(req));
  };
}

function createApp(): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  return app.enable('case sensitive routing').enable('strict routing');
}

/** As many steps as the journey has. */
function withSteps(): Express {
  const app = createApp();
  const passOn: RequestHandler = (_req, _res, next) => next();
  app.route(/^/).all(...Array.from({ length: 13 }, () => passOn), () => {});
  return app;
}

class PlainError extends Error {
  readonly code: string;

  constructor(code: string) {
    super('The rate limit is exceeded.', { cause: undefined });
    this.code = code;
  }
}

/** Errors are thrown some way down, and V8 captures ten frames of it. */
const atDepth = (depth: number, create: () => unknown): unknown =>
  depth === 0 ? create() : atDepth(depth - 1, create);

const responseHeaders = Array.from(
  { length: 13 },
  (_, index) => [`X-Header-${index}`, `value ${index}`] as const,
);
const names = { route: '/v1/pets', method: 'GET', status: '2xx', plan: 'free' };
const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const metrics = createRequestMetrics(new Registry(), buckets);
const counter = new Counter({ name: 'requests', help: 'x', labelNames: Object.keys(names), registers: [] });
const histogram = new Histogram({
  name: 'seconds',
  help: 'x',
  labelNames: ['route', 'method'],
  buckets,
  registers: [],
});

const withKey = Object.assign(incoming(), {
  rawHeaders: ['Host', 'localhost', 'Authorization', `Bearer ${generateApiKey()}`],
});
const credentialOf = createConnectionCredentials();

const contortions: Contortion[] = [
  {
    name: 'own classes of requests and responses; plain: Express changes the prototypes of each',
    kept: requestOf(withSteps()),
    plain: requestOf(withSteps(), { own: false }),
  },
  {
    name: '`StacklessError`; plain: `Error`',
    kept: () => void atDepth(10, () => new GatewayError('rate_limit_exceeded')),
    plain: () => void atDepth(10, () => new PlainError('rate_limit_exceeded')),
  },
  {
    name: '`ResponseHeaders` and `writeHead`; plain: `setHeader`',
    kept: () => {
      const headers = new ResponseHeaders();
      for (const [name, value] of responseHeaders) headers.set(name, value);
      new ServerResponse(incoming()).writeHead(200, headers.toRaw());
    },
    plain: () => {
      const res = new ServerResponse(incoming());
      for (const [name, value] of responseHeaders) res.setHeader(name, value);
      res.writeHead(200);
    },
  },
  {
    name: 'the last Authorization of a connection is remembered; plain: its key is checked and hashed',
    kept: () => void credentialOf(withKey),
    plain: () => void parseCredential(withKey.rawHeaders),
  },
  {
    name: 'counts and durations in own objects; plain: labels of prom-client',
    kept: () => {
      metrics.count(names.route, names.method, names.status, names.plan, 0.01);
    },
    plain: () => {
      counter.inc(names);
      histogram.observe({ route: names.route, method: names.method }, 0.01);
    },
  },
];

const repeated = (call: () => void) => () => {
  for (let index = 0; index < calls; index += 1) call();
};
const rows: { name: string; keptMicros: number; plainMicros: number }[] = [];
for (const { name, kept, plain } of contortions) {
  const bench = new Bench({ time: 3000, warmupTime: 1000 });
  bench.add('kept', repeated(kept)).add('plain', repeated(plain));
  // Twice, since V8 may compile the first one for its own arguments only.
  await bench.run();
  await bench.run();
  const micros = (task: string) => {
    const result = bench.getTask(task)?.result;
    if (result?.state !== 'completed') throw new Error(`${name}: ${task} did not complete`);
    return (result.latency.min / calls) * 1000;
  };
  rows.push({ name, keptMicros: micros('kept'), plainMicros: micros('plain') });
}
const table = markdownTable(
  ['contortion', 'with it, µs', 'plain, µs', 'saves, µs'],
  rows.map(({ name, keptMicros, plainMicros }) => [
    name,
    keptMicros.toFixed(2),
    plainMicros.toFixed(2),
    (plainMicros - keptMicros).toFixed(2),
  ]),
);
const text = `## Contortions for speed\n\n${environmentLine()}; the fastest of many runs of ${calls} calls.\n\n${table}`;
process.stdout.write(`${table}\n`);
await writeResults('contortions', text, rows);
