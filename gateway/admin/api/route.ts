import type { Request, Response } from 'express';
import { z } from 'zod';
import { acceptedEncoding, encode } from '../../http/encoded-text.ts';
import type { Traffic } from '../../operations/traffic.ts';
import type { MonthUsage } from '../../operations/usage-months.ts';
import type { ConsoleAccess } from '../access/console-access.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import type { Counted, PlanCounts } from './plan-counts.ts';
import type { UsageAdjustments } from './usage-adjustment.ts';

/** What openapi.yaml says of an operation. */
export interface Operation<Input = unknown, Result = unknown> {
  operationId: string;
  summary: string;
  description?: string;
  /** The query of a GET, and the body of any other request. */
  input?: z.ZodType<Input>;
  /** Of a body. */
  example?: object;
  /** Of the response that is no refusal. */
  responds: string;
  /** Undefined for a response without a body. */
  result?: z.ZodType<Result>;
  /** Of the response; 200 by default, and 204 without a body. */
  status?: number;
  /** Content of the events that are the response, by their names in the document. */
  events?: readonly z.ZodType[];
  /** Media type of a response that is a text, which the handler streams. */
  text?: string;
  /** `open`: without a session. `session`: also for a viewer, whose changes are refused otherwise. */
  access?: 'open' | 'session';
}

/** A range of the record of traffic: up to now, or a free one. */
interface TrafficQuery {
  last?: '1h' | '6h' | '24h' | '7d' | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  plan?: string | undefined;
}

/** What routes work with. */
export interface Api extends ApiDependencies {
  access: ConsoleAccess;
  sendEvents: (req: Request, res: Response) => void;
  counts: PlanCounts;
  /** Readings of the record of traffic serve all consoles. */
  readTraffic: (req: Request, query: TrafficQuery) => Promise<Traffic>;
  adjustments: UsageAdjustments;
  /** Use of all keys in the last months. */
  usageMonths: () => Promise<Counted<MonthUsage[]>>;
  /** Streams the use of a month as CSV. */
  downloadUsage: (res: Response, month: string) => Promise<void>;
}

export interface Call<Input> {
  req: Request;
  res: Response;
  /** Id of the key, or name of the plan, in the path. */
  target: string;
  input: Input;
}

interface Handling<Input, Result> {
  handle: (call: Call<Input>, api: Api) => NoInfer<Result> | Promise<NoInfer<Result>>;
}

/** A route of the API with its description. */
export interface Route {
  method: Method;
  /** As Express has it, below `/api`. */
  path: string;
  operation: Operation;
  serve: (api: Api, req: Request, res: Response) => Promise<void>;
}

const methods = ['get', 'put', 'post', 'patch', 'delete'] as const;
type Method = (typeof methods)[number];

/** Input of an operation that has none. */
const ignored = z.custom<never>();

function routeOf(method: Method) {
  return function describedRoute<Input, Result = void>(
    path: string,
    { handle, ...operation }: Operation<Input, Result> & Handling<Input, Result>,
  ): Route {
    const { input: schema = ignored, result, status = result === undefined ? 204 : 200 } = operation;
    const isStreamed = operation.events !== undefined || operation.text !== undefined;
    return {
      method,
      path,
      operation,
      async serve(api, req, res) {
        const input = schema.parse(method === 'get' ? req.query : req.body);
        const [target = ''] = Object.values(req.params).map(String);
        const value = await handle({ req, res, target, input }, api);
        if (isStreamed) return;
        res.status(status);
        if (result === undefined) res.end();
        else await sendJson(req, res, value);
      },
    };
  };
}

/** From this on, a response is compressed: an hour of traffic has 74 kB. Responses with secrets are shorter. */
const minCompressed = 8192;

async function sendJson(req: Request, res: Response, value: unknown): Promise<void> {
  const text = JSON.stringify(value);
  const encoding = text.length < minCompressed ? 'identity' : acceptedEncoding(req);
  if (encoding === 'identity') {
    res.json(value);
    return;
  }
  const { body } = await encode(text, encoding);
  res.set({ 'Content-Encoding': encoding, Vary: 'Accept-Encoding' }).type('json').send(body);
}

/** Describes and serves a route: `route.get('/bans', { … })`. */
export const route = {
  get: routeOf('get'),
  put: routeOf('put'),
  post: routeOf('post'),
  patch: routeOf('patch'),
  delete: routeOf('delete'),
};
