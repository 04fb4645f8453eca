import { z } from 'zod';
import type { Operation } from '../../control/operation.ts';
import type { FormField, Question } from '../../control/question.ts';
import { targets } from '../../control/targets.ts';
import { fieldType, mayLack } from '../field-type.ts';

export type DialogField = ReturnType<typeof dialogField>;

/** What the console needs to offer a change and to make it. */
export interface Dialog extends Omit<Question, 'fields'> {
  operationId: string;
  method: string;
  /** Of the route, with a parameter such as `:id` for the target. */
  path: string;
  /** What the target is; undefined without one. */
  noun?: string | undefined;
  fields: DialogField[];
  /** Fields of the target that the route asks for, as they were seen. */
  seen: string[];
}

/** All that operations say of how the console offers them. */
export const dialogsOf = (operations: readonly Operation[]): Dialog[] =>
  operations.flatMap((operation) => {
    if (operation.kind !== 'change' || operation.http === undefined) return [];
    const { operationId, http, input, seen, asks = [] } = operation;
    const [method = '', path = ''] = http.split(' ');
    const noun = targets[/:(\w+)/.exec(path)?.[1] ?? '']?.noun;
    return [asks].flat().map(({ fields = {}, ...question }) =>
      Object.assign(question, {
        operationId,
        method,
        path,
        noun,
        fields: Object.entries(fields).map(([name, form]) =>
          dialogField(name, form, fieldSchema(input, name), method === 'PATCH'),
        ),
        seen: seen instanceof z.ZodObject ? Object.keys(seen.shape) : [],
      }),
    );
  });

function fieldSchema(input: z.ZodType | undefined, name: string): z.ZodType {
  const schema: unknown = input instanceof z.ZodObject ? input.shape[name] : undefined;
  if (schema instanceof z.ZodType) return schema;
  throw new Error(`a dialog asks for ${name}, which its operation does not take`);
}

function dialogField(name: string, form: FormField, schema: z.ZodType, isChange: boolean) {
  const nullable = schema.safeParse(null).success;
  const { anyOf = [], ...single } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  // Of a field that may be null, one of two.
  const { maxLength, minimum, maximum } = anyOf.find(({ type }) => type !== 'null') ?? single;
  return {
    ...form,
    name,
    type: fieldType(schema),
    // What is emptied is removed by a change.
    required: !nullable && (isChange || !mayLack(schema)),
    /** Whether null stands for an empty field, which is left out otherwise. */
    nullable,
    maxlength: maxLength,
    min: minimum,
    max: maximum,
  };
}
