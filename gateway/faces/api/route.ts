import type { Request, Response } from 'express';
import { z } from 'zod';
import { isApiScope, type ApiScope } from '../../control/access/api-scopes.ts';
import type { Described, OperationContext } from '../../control/operation.ts';
import { runOnce } from '../../control/run-once.ts';
import type { Session } from '../../control/session.ts';
import { callerOf, type Permitted } from './access/caller.ts';
import { ApiError, toApiError } from './api-error.ts';

export interface Changed<T> {
  result: T;
  /** Doubts whether the change survives a failure of Redis, in words. */
  warnings: string[];
}

/** What the routes of an API work with. */
export interface RouteApi {
  /** Runs an operation that only reads. @throws ApiError service_unavailable if Redis is unavailable */
  read<T>(use: (session: Session) => Promise<T>): Promise<T>;
  /**
   * Runs an operation that changes something, audited under the name of the request's caller, and waits until the change is on
   * Redis' disk and replicas.
   * @throws ApiError service_unavailable if Redis is unavailable; OperationFailure as changeRedis does
   */
  change<T>(req: Request, use: (session: Session) => Promise<T>): Promise<Changed<T>>;
  contextOf(req: Request): OperationContext;
}

/** What the document of an API says of a route. */
export interface RouteDescription extends Described {
  http?: NonNullable<Described['http']>;
  /** The query of a GET, and the body of any other request. */
  input?: z.ZodType | undefined;
  /** Of a body. */
  example?: object | undefined;
  /** Undefined for a response without a body. */
  result?: z.ZodType | undefined;
  /** Media type of a response that is streamed. */
  streamed?: string | undefined;
}

export interface Call<Input> {
  req: Request;
  res: Response;
  /** Id of the key, or name of the plan, in the path. */
  target: string;
  input: Input;
}

/** A route of an API with its description. @template Api what it works with */
export interface Route<Api = RouteApi> extends Permitted {
  operation: RouteDescription;
  /** Whether it makes something, which a repetition would make again without an Idempotency-Key. */
  isCreate: boolean;
  serve: (api: Api, req: Request, res: Response) => Promise<void>;
}

const methods = z.enum(['get', 'put', 'post', 'patch', 'delete']);

/**
 * Makes a route from its description.
 * @param prepare checks the input of a request, and returns what is to be done
 */
export function buildRoute<Api extends RouteApi>(
  operation: RouteDescription,
  prepare: (call: Call<unknown>, api: Api) => () => unknown,
): Route<Api> {
  const { http = '', result, status = result === undefined ? 204 : 200, streamed } = operation;
  const [verb = '', path = ''] = http.split(' ');
  const method = methods.parse(verb.toLowerCase());
  const isCreate = status === 201;
  const isForViewers = method === 'get' || operation.access === 'viewer';
  return {
    method,
    path,
    operation,
    isForViewers,
    isCreate,
    scope: scopeOf(path, operation, isForViewers),
    async serve(api, req, res) {
      const [target = ''] = Object.values(req.params).map(String);
      const input: unknown = method === 'get' ? req.query : req.body;
      const run = prepare({ req, res, target, input }, api);
      if (streamed !== undefined) return void (await run());
      const toJson = async () => JSON.stringify(await run());
      const json = isCreate ? await respondOnce({ req, res }, api, toJson) : await toJson();
      res.status(status);
      if (result === undefined) res.end();
      else res.type('json').send(json);
    },
  };
}

/**
 * Makes the response of a request, or that of the first one with the same Idempotency-Key of this caller.
 * @throws ApiError bad_request, idempotency_key_in_use, idempotency_key_reused; and what `run` throws
 */
async function respondOnce(
  { req, res }: Pick<Call<unknown>, 'req' | 'res'>,
  { read }: Pick<RouteApi, 'read'>,
  run: () => Promise<string>,
): Promise<string> {
  const key = parseIdempotencyKey(req);
  if (key === undefined) return run();
  const request = {
    key,
    secret: callerOf(req).secret,
    content: JSON.stringify([req.method, req.path, req.body]),
    isRefusal: (error: unknown) => toApiError(error).status < 500,
  };
  const once = await read((session) => runOnce(session, request, run));
  switch (once.outcome) {
    case 'done':
      if (once.replayed) res.set('Idempotency-Replayed', 'true');
      return once.json;
    case 'in_use':
      throw new ApiError('idempotency_key_in_use', { headers: { 'Retry-After': '1' } });
    case 'reused':
      throw new ApiError('idempotency_key_reused');
  }
}

/** Makes a route that is no operation from its description and what it does. */
export function route<Api extends RouteApi, Result = void>({
  handle,
  ...operation
}: RouteDescription & {
  result?: z.ZodType<Result>;
  handle: (call: Omit<Call<unknown>, 'input'>, api: Api) => NoInfer<Result> | Promise<NoInfer<Result>>;
}): Route<Api> {
  return buildRoute(operation, (call, api) => () => handle(call, api));
}

/** @throws Error for a route that forgets its scope: it would be closed, or open, to tokens by accident */
function scopeOf(path: string, { noun }: RouteDescription, reads: boolean): ApiScope | undefined {
  if (noun === null) return undefined;
  const scope = `${noun ?? path.split('/')[1]}:${reads ? 'read' : 'write'}`;
  if (isApiScope(scope)) return scope;
  throw new Error(
    `${path} needs ${scope}: add it to apiScopes, or close the operation to tokens with noun: null`,
  );
}

/**
 * Parses the key of draft-ietf-httpapi-idempotency-key-header-07, section 2. It is the same key with and without quotes,
 * which many clients do not send.
 * @returns undefined if the header was not sent
 * @throws ApiError bad_request
 */
function parseIdempotencyKey({ headersDistinct }: Request): string | undefined {
  const [value, ...more] = headersDistinct['idempotency-key'] ?? [];
  if (value === undefined) return undefined;
  // A comma without quotes joins repeated headers.
  const pattern = /^(?:"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,255}))$/;
  const [, quoted, bare] = pattern.exec(value) ?? [];
  const key = quoted ?? bare;
  if (more.length === 0 && key !== undefined) return key;
  throw new ApiError('bad_request', {
    message:
      'Idempotency-Key must be given once, as 1 to 255 ASCII characters other than quotes and backslashes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".',
  });
}
