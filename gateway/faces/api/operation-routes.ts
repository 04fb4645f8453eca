import type { Request } from 'express';
import { z } from 'zod';
import { hashSecret } from '../../control/access/console-secret.ts';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import type { ChangeOperation, Operation, OperationContext } from '../../control/operation.ts';
import type { Session } from '../../control/session.ts';
import { isIdOf, targets } from '../../control/targets.ts';
import { callerOf } from './access/caller.ts';
import { assertScopes } from './access/require-permission.ts';
import { ApiError } from './api-error.ts';
import { respondOnce } from './respond-once.ts';
import { changed } from './results.ts';
import { buildRoute, type Api, type Route } from './route.ts';

const methods = { GET: 'get', PUT: 'put', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;
const confirmedInput = z.object({
  confirmed: z
    .boolean()
    .default(false)
    .describe('Needed for what is usually a mistake: the refusal says what'),
});

/** Routes of the operations that have one. */
export function operationRoutes(operations: readonly Operation[]): Route[] {
  const changedSchemas = new Map<unknown, z.ZodType>();
  return operations.flatMap((operation) => {
    const [, method = '', path = ''] = /^(\w+) (.+)$/.exec(operation.http ?? '') ?? [];
    if (!isMethod(method)) return [];
    const { input: _input, ...described } = operation;
    const route = {
      ...described,
      ...((operation.input ?? seenOf(operation)) && { input: inputOf(operation) }),
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

const seenOf = (operation: Operation) => (operation.kind === 'change' ? operation.seen : undefined);

/** The input, with what the route asks for beside it. */
function inputOf(operation: Operation): z.ZodType {
  const { input = z.strictObject({}) } = operation;
  if (operation.kind !== 'change' || !(input instanceof z.ZodObject)) return input;
  const more = { ...shapeOf(operation.seen), ...(operation.doubts && confirmedInput.shape) };
  return Object.keys(more).length === 0 ? input : input.safeExtend(more);
}

const shapeOf = (schema: z.ZodType | undefined) => (schema instanceof z.ZodObject ? schema.shape : {});

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
  const context = contextOf(req, api);
  switch (operation.kind) {
    case 'read':
    case 'list': {
      const run = operation.prepare({ target, input, context });
      const show = async (session: Session) => (await run(session)).result;
      return () => api.read(show);
    }
    case 'change': {
      const { shows, doubts } = operation;
      const { confirmed, seen, rest } = partsOf(operation, input);
      const call = { target, input: operation.input && rest, seen, context };
      const doubt = doubts?.(call);
      const run = operation.prepare(call);
      return async () => {
        const { result, warnings } = await api.change(req, async (session): Promise<object> => {
          // Also if it is confirmed: whoever is sure may still ask for what cannot be.
          const reason = await doubt?.(session);
          if (confirmed !== true) assertSure(reason);
          const { result } = await run(session);
          return shows === undefined ? result : shows(session, target);
        });
        return { ...result, warnings };
      };
    }
  }
}

const confirmedPart = z.looseObject({ confirmed: z.boolean().optional() });

/** Parts of a body: whether the caller is sure, what it has seen, and the input of the operation. @throws ZodError */
function partsOf(operation: ChangeOperation, body: unknown) {
  if (operation.seen === undefined && operation.doubts === undefined) return { rest: body };
  // As a whole, so that one refusal names all that is wrong.
  inputOf(operation).parse(body);
  const { confirmed, ...fields } = confirmedPart.parse(body);
  const seenNames = Object.keys(shapeOf(operation.seen));
  const { seen = [], rest = [] } = Object.groupBy(Object.entries(fields), ([name]) =>
    seenNames.includes(name) ? 'seen' : 'rest',
  );
  return { confirmed, seen: Object.fromEntries(seen), rest: Object.fromEntries(rest) };
}

/** @throws InvalidOperation for what is usually a mistake */
function assertSure(doubt: string | undefined): void {
  if (doubt !== undefined)
    throw new InvalidOperation(`${doubt}. Nothing was changed: confirm it (confirmed: true) if it is meant.`);
}

function contextOf(req: Request, { publicOrigin, webhookNetworks, planCustomers }: Api): OperationContext {
  const caller = callerOf(req);
  return {
    publicOrigin,
    webhookNetworks,
    planCustomers,
    warn() {},
    sessionId: caller.session?.id,
    apiTokenHash: caller.scopes && hashSecret(caller.secret),
    assertScopes: (needed) => assertScopes(caller, needed),
  };
}
