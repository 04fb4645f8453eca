import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { z } from 'zod';
import type { Operation } from '../../control/operation.ts';
import type { Session } from '../../control/session.ts';
import { isIdOf, targets } from '../../control/targets.ts';
import { ApiError } from './api-error.ts';
import { buildRoute, type Call, type Route, type RouteApi } from './route.ts';

const changedSchema = z
  .object({
    warnings: z
      .array(z.string())
      .describe(
        'Doubts whether the change survives a failure of Redis: not on its disk, or not on its replicas',
      ),
  })
  .meta({ id: 'Changed' });

/** Routes of the operations that have one. */
export function operationRoutes(operations: readonly Operation[]): Route[] {
  const changedSchemas = new Map<unknown, z.ZodType>();
  return operations.flatMap((operation) => {
    const { http } = operation;
    if (http === undefined) return [];
    const kind = targets[/:(\w+)/.exec(http)?.[1] ?? ''];
    const described = {
      ...operation,
      input: inputOf(operation),
      result: resultOf(operation, changedSchemas),
      streamed: operation.kind === 'list' ? operation.stream?.type : undefined,
    };
    return buildRoute(described, (call, api) => {
      if (kind !== undefined && !isIdOf(kind, call.target))
        throw new ApiError('not_found', { message: `No ${kind.noun} has such an id.` });
      return prepare(operation, call, api);
    });
  });
}

const shapeOf = (schema: z.ZodType | undefined) => (schema instanceof z.ZodObject ? schema.shape : {});

/** Fields that the route asks for beside the input of the operation. */
const routeFields = (operation: Operation) => (operation.kind === 'change' ? shapeOf(operation.seen) : {});

function inputOf(operation: Operation): z.ZodType | undefined {
  const more = routeFields(operation);
  if (Object.keys(more).length === 0) return operation.input;
  const { input = z.strictObject({}) } = operation;
  return input instanceof z.ZodObject ? input.safeExtend(more) : input;
}

/** The same schema for the same result, since its id names it in the document. */
function resultOf(operation: Operation, known: Map<unknown, z.ZodType>): z.ZodType {
  const { result } = operation;
  if (operation.kind !== 'change') return result;
  const { resultId: id } = operation;
  const changed = result.and(changedSchema);
  const schema = known.get(id ?? result) ?? (id === undefined ? changed : changed.meta({ id }));
  known.set(id ?? result, schema);
  return schema;
}

function prepare(operation: Operation, { req, res, ...given }: Call<unknown>, api: RouteApi): () => unknown {
  const call = { ...given, context: api.contextOf(req) };
  if (operation.kind === 'list' && operation.stream !== undefined) {
    const { type, open } = operation.stream;
    const { fileName, write } = open(call);
    return () =>
      api.read((session) => {
        res.set({ 'Content-Type': `${type}; charset=utf-8`, 'Cache-Control': 'no-store' });
        if (fileName !== undefined) res.set('Content-Disposition', `attachment; filename="${fileName}"`);
        return stream(res, write(session));
      });
  }
  switch (operation.kind) {
    case 'list':
    case 'read': {
      const run = operation.prepare(call);
      const show = async (session: Session) => (await run(session)).result;
      return () => api.read(show);
    }
    case 'change': {
      const { shows } = operation;
      const input = bodyOf(operation, call.input);
      const run = operation.prepare({ ...call, input, seen: operation.seen && call.input });
      return async () => {
        const { result, warnings } = await api.change(req, async (session): Promise<object> => {
          const { result } = await run(session);
          return shows === undefined ? result : shows(session, call.target);
        });
        return { ...result, warnings };
      };
    }
  }
}

/** The input of the operation in a body. @throws ZodError */
function bodyOf(operation: Operation, body: unknown): unknown {
  const more = routeFields(operation);
  if (Object.keys(more).length === 0) return operation.input && body;
  // As a whole, so that one refusal names all that is wrong.
  inputOf(operation)?.parse(body);
  const fields = Object.entries(z.looseObject({}).parse(body));
  return operation.input && Object.fromEntries(fields.filter(([name]) => !Object.hasOwn(more, name)));
}

/** Sends a text of any length, which takes the memory of a page of it. */
export async function stream(res: Response, text: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(text), res);
  } catch (error) {
    if (!isEarlyClose(error)) throw error;
  }
}

/** Of a response that was closed before or while the text is sent: the browser has left. */
const earlyCloses = new Set<unknown>(['ERR_STREAM_UNABLE_TO_PIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

function isEarlyClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && earlyCloses.has(error.code);
}
