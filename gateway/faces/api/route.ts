import type { Request, Response } from 'express';
import type { z } from 'zod';
import { isApiScope, type ApiScope } from '../../control/access/api-scopes.ts';
import { noInput, type OperationContext } from '../../control/operation.ts';
import type { ConsoleAccess } from './access/console-access.ts';
import type { Permitted } from './access/require-permission.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import type { Live } from './live-state.ts';
import { respondOnce } from './respond-once.ts';
import type { DownloadUsage } from './usage-download.ts';

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
  /** Media type of a response that is a text, which the handler streams. */
  text?: string;
  /** A JSON response that the handler streams. */
  streamed?: z.ZodType;
  /** `open`: without a session. `viewer`: changes nothing that others see, so a viewer may call it as well as a GET. */
  access?: 'open' | 'viewer';
  /** First part of the scope that a token needs, by default that of the path; null closes the operation to tokens. */
  noun?: string | null;
}

/** What routes work with. */
export interface Api extends ApiDependencies {
  access: ConsoleAccess;
  /** Where customers see the gateway. */
  publicOrigin: () => string;
  live: Live;
  /** Number of customers on each plan, some seconds old. */
  planCustomers: OperationContext['planCustomers'];
  /** Streams the use of all customers. */
  downloadUsage: DownloadUsage;
}

export interface Call<Input> {
  req: Request;
  res: Response;
  /** Id of the key, or name of the plan, in the path. */
  target: string;
  input: Input;
}

interface Handling<Input, Result, Api> {
  handle: (call: Call<Input>, api: Api) => NoInfer<Result> | Promise<NoInfer<Result>>;
}

/** A route of an API with its description. @template A what its handler works with */
export interface Route<A = Api> extends Permitted {
  operation: Operation;
  /** Whether it makes something, which a repetition would make again without an Idempotency-Key. */
  isCreate: boolean;
  serve: (api: A, req: Request, res: Response) => Promise<void>;
}

/** Responds to a repeated creation as to the first one. */
type RespondOnce<A> = (
  exchange: { req: Request; res: Response },
  api: A,
  toJson: () => Promise<string>,
) => Promise<string>;

type Method = Permitted['method'];

/** Checks the input of a request, and returns what is to be done. */
type Prepare<A> = (call: Call<unknown>, api: A) => () => unknown;

/** Makes a route from its description and from what it does. */
export function buildRoute<A>(
  method: Method,
  path: string,
  operation: Operation,
  respondOnce: RespondOnce<A> | undefined,
  prepare: Prepare<A>,
): Route<A> {
  const { result, status = result === undefined ? 204 : 200 } = operation;
  const isStreamed = (operation.text ?? operation.streamed) !== undefined;
  const isCreate = respondOnce !== undefined && method === 'post' && status === 201;
  const isForViewers = method === 'get' || operation.access === 'viewer';
  return {
    method,
    path,
    operation,
    isForViewers,
    isCreate,
    scope: respondOnce && scopeOf(path, operation, isForViewers),
    async serve(api, req, res) {
      const [target = ''] = Object.values(req.params).map(String);
      const input: unknown = method === 'get' ? req.query : req.body;
      const run = prepare({ req, res, target, input }, api);
      if (isStreamed) return void (await run());
      if (result === undefined) {
        await run();
        res.status(status).end();
        return;
      }
      const toJson = async () => JSON.stringify(await run());
      const json = isCreate ? await respondOnce({ req, res }, api, toJson) : await toJson();
      res.status(status).type('json').send(json);
    },
  };
}

function routeOf<A>(method: Method, respondOnce: RespondOnce<A> | undefined) {
  return function describedRoute<Input, Result = void>(
    path: string,
    { handle, ...operation }: Operation<Input, Result> & Handling<Input, Result, A>,
  ): Route<A> {
    const { input: schema = noInput } = operation;
    return buildRoute(method, path, operation, respondOnce, ({ input: given, ...call }, api) => {
      const input = schema.parse(given);
      return () => handle({ ...call, input }, api);
    });
  };
}

/** @throws Error for a route that forgets its scope: it would be closed, or open, to tokens by accident */
function scopeOf(path: string, { noun }: Pick<Operation, 'noun'>, reads: boolean): ApiScope | undefined {
  if (noun === null) return undefined;
  const scope = `${noun ?? path.split('/')[1]}:${reads ? 'read' : 'write'}`;
  if (isApiScope(scope)) return scope;
  throw new Error(
    `${path} needs ${scope}: add it to apiScopes, or close the operation to tokens with noun: null`,
  );
}

/**
 * Creates the functions that describe and serve the routes of an API.
 * @param respondOnce of an API that programs use with tokens, which have scopes, and repeat their requests
 */
export function createRoutes<A>(respondOnce?: RespondOnce<A>) {
  return {
    get: routeOf('get', respondOnce),
    put: routeOf('put', respondOnce),
    post: routeOf('post', respondOnce),
    patch: routeOf('patch', respondOnce),
    delete: routeOf('delete', respondOnce),
  };
}

/** Describes and serves a route of the operators' API: `route.get('/bans', { … })`. */
export const route = createRoutes<Api>(respondOnce);
