import type { Request } from 'express';
import { z } from 'zod';
import { revInput } from '../../operations/key-input.ts';
import type { Operation, OperationContext } from '../../operations/operation.ts';
import type { Session } from '../../operations/session.ts';
import { isIdOf, targets } from '../../operations/targets.ts';
import { apiTokenHashOf, callerOf } from '../access/caller.ts';
import { assertScopes } from '../access/require-permission.ts';
import { ApiError } from './api-error.ts';
import { respondOnce } from './respond-once.ts';
import { changed } from './results.ts';
import { buildRoute, type Api, type Route } from './route.ts';

const methods = { GET: 'get', PUT: 'put', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;
const revSchema = z.looseObject({ rev: revInput });

/** Routes of the operations that have one. */
export function operationRoutes(operations: readonly Operation[]): Route[] {
  const changedSchemas = new Map<unknown, z.ZodType>();
  return operations.flatMap((operation) => {
    const [, method = '', path = ''] = /^(\w+) (.+)$/.exec(operation.http ?? '') ?? [];
    if (!isMethod(method)) return [];
    const { input: _input, ...described } = operation;
    const route = {
      ...described,
      ...(operation.input && { input: inputOf(operation.input, operation) }),
      result: resultOf(operation, changedSchemas),
    };
    const kind = targets[/:(\w+)/.exec(path)?.[1] ?? ''];
    return buildRoute(methods[method], path, route, respondOnce, ({ req, target, input }, api: Api) => {
      if (kind !== undefined && !isIdOf(kind, target))
        throw new ApiError('not_found', { message: `No ${kind.noun} has such an id.` });
      return prepare(operation, { req, target, input }, api);
    });
  });
}

const isMethod = (text: string): text is keyof typeof methods => Object.hasOwn(methods, text);

/** The input, with the revision if the operation takes it. */
function inputOf(input: z.ZodType, operation: Operation): z.ZodType {
  const takesRev = operation.kind === 'change' && operation.takesRev;
  return takesRev && input instanceof z.ZodObject ? input.safeExtend({ rev: revInput }) : input;
}

/** The same schema for the same result, since its id names it in the document. */
function resultOf(operation: Operation, known: Map<unknown, z.ZodType>): z.ZodType {
  const { result } = operation;
  if (operation.kind !== 'change') return result;
  const { resultId: id } = operation;
  const schema =
    known.get(id ?? result) ?? (id === undefined ? changed(result) : changed(result).meta({ id }));
  known.set(id ?? result, schema);
  return schema;
}

function prepare(
  operation: Operation,
  { req, target, input }: { req: Request; target: string; input: unknown },
  api: Api,
): () => Promise<object> {
  const call = { target, input, context: contextOf(req, api) };
  switch (operation.kind) {
    case 'read':
    case 'list': {
      const run = operation.prepare(call);
      const show = async (session: Session) => (await run(session)).result;
      return () => (operation.isSearch ? api.search(req, show) : api.read(show));
    }
    case 'change': {
      const { shows } = operation;
      const run = operation.prepare(operation.takesRev ? withoutRev(call) : call);
      return async () => {
        const { result, warnings } = await api.change(req, async (session): Promise<object> => {
          const { result } = await run(session);
          return shows === undefined ? result : shows(session, target);
        });
        return { ...result, warnings };
      };
    }
  }
}

function withoutRev<Call extends { input: unknown }>(call: Call): Call & { rev: number } {
  const { rev, ...input } = revSchema.parse(call.input);
  return { ...call, input, rev };
}

function contextOf(req: Request, { publicOrigin, webhookNetworks }: Api): OperationContext {
  const caller = callerOf(req);
  return {
    publicOrigin,
    webhookNetworks,
    get apiTokenHash() {
      return apiTokenHashOf(caller);
    },
    assertScopes: (needed) => assertScopes(caller, needed),
  };
}
