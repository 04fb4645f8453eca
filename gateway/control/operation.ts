import { z } from 'zod';
import type { CustomerId } from '../platform/redis/redis-keys.ts';
import type { ApiScope } from './access/api-scopes.ts';
import type { ChangedField } from './audit/audit-log.ts';
import { csvText, jsonText, pagesOf, type Cell, type Items } from './list-text.ts';
import type { Question } from './question.ts';
import type { ReadingSession, Session } from './session.ts';

/** What an operation may know of the face that calls it. */
export interface OperationContext {
  /** Where customers see the gateway. */
  publicOrigin(): string;
  /** Networks that webhooks may lead to although they are not public. */
  webhookAllowedNetworks: readonly string[];
  /** Hash of the API token of a program that calls. */
  apiTokenHash?: string | undefined;
  /** Id of the console session of a person who calls. */
  sessionId?: string | undefined;
  /** Customer whose portal calls. */
  customer?: CustomerId | undefined;
  /** Number of customers on each plan, perhaps some seconds old. */
  planCustomers(session: ReadingSession): Promise<ReadonlyMap<string, number>>;
  /** Says what is wrong with what is shown. */
  warn(text: string): void;
  /** Throws an error of the face if a program that calls lacks one of the scopes. */
  assertScopes(needed: readonly ApiScope[]): void;
}

interface Call<Input, Seen = unknown> {
  /** What the path, or the first argument of the command, names. */
  target: string;
  input: Input;
  /** What the caller has seen of what is to be changed; undefined if it did not say. */
  seen?: Seen | undefined;
  context: OperationContext;
}

/** A call whose input is still to be checked. */
export type RawCall = Call<unknown>;

export interface Described {
  /** Name of the operation in the document. */
  operationId: string;
  /** Method and path below that of the API, as in `PUT /keys/:id/ban`; undefined without a route. */
  http?: `${'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'} /${string}`;
  /** Begins with a verb, or with what is listed, for route and command alike. */
  summary: string;
  description?: string;
  /** First part of the scope that a token needs, by default that of the path; null closes the operation to tokens. */
  noun?: string | null;
  /** `open`: without a session. `viewer`: changes nothing that others see, so a viewer may call it as well as a GET. */
  access?: 'open' | 'viewer';
  /** Of the response; 200 by default, and 204 without a body. */
  status?: number;
  /** What the response has, in words. */
  responds: string;
}

/** An option of a command. By default a field is `--<name> <text>`, and its description is what is said of it. */
export interface OptionForm {
  /** As in `--expires <time>`; of a boolean two, as in `--on --off`. */
  flags?: string;
  /** Of a boolean two, with ` | ` between them. */
  says?: string;
  /** Word for null. */
  nothing?: string;
  /** What the text is, if it is neither what the field says nor a list of it: a time or a duration from now or ago, or a duration. */
  from?: 'time' | 'time ago' | 'duration';
  /** In place of an option that is not given. */
  default?: string;
}

/** How the command calls an operation, as far as that does not follow from the rest. */
export interface CommandForm {
  /** Words and argument, as in `bans add <id>`. */
  usage: string;
  /** Of an argument that need be no id, and can be left out. */
  argument?: {
    says: string;
    /** Finds the id of the target. */
    find: (text: string, session: Session) => Promise<string>;
    /** The same by a secret, which is read from standard input if there is no argument. */
    findSecret: (text: string, session: Session) => Promise<string>;
  };
  /** In place of the summary. */
  says?: string;
  /** What is typed after `ops`, for the help, if the words alone are no good example. */
  examples?: readonly string[];
  /** Fields that are no option are left out by `false`; those of the pages of a list are none. */
  options?: Readonly<Record<string, OptionForm | false>>;
  /** Question before, unless `--yes` is given; nothing is asked if it returns undefined. */
  asks?: (session: Session, target: string) => string | undefined | Promise<string | undefined>;
}

/** How the command prints a list. */
export interface Layout<Item> {
  /** By their headings: the name of a field, or what makes a cell of an item. */
  columns: Readonly<Record<string, (keyof Item & string) | ((item: Item) => Cell)>>;
  /** Columns that a table has only if an item has a value for them. */
  sparse?: readonly string[];
  /** Fields of the CSV, if these are not the columns. The names are stable: they are only added, at the end. */
  csv?: readonly (keyof Item & string)[];
  /** What is printed if `--output` is not given; a table by default. */
  format?: 'csv';
}

interface Page<Item> {
  items: Item[];
  next: string | null;
}

/** What people see of a result: a text, fields with what they were, or other fields. */
type Printed = string | readonly ChangedField[] | Readonly<Record<string, Cell>>;

interface Definition<Input, Result extends object, Shown extends object> extends Described {
  input?: z.ZodType<Input>;
  /** Of a body, for the document. */
  example?: object;
  /** Of the route. */
  result: z.ZodType<Shown>;
  command?: CommandForm & {
    /** In place of a line for each field. */
    prints?: (result: Result) => Printed;
  };
}

interface Change<Input, Result extends object, Shown extends object, Seen> extends Definition<
  Input,
  Result,
  Shown
> {
  /**
   * What somebody did in words, before what it was done to: for the audit log, whose action has the words of the command, such as
   * `bans.add`. By their actions if these have other names. Absent if nothing is recorded, or another operation says it.
   */
  audits?: string | Readonly<Record<string, string>>;
  /** How the console offers it; several if it does different things. Absent if the console has no dialog, or one of its own. */
  asks?: Question | readonly Question[];
  /** Id of the schema of the route's response. */
  resultId?: string;
  /** Fields in which the route asks for what the caller has seen. */
  seen?: z.ZodType<Seen>;
  /** What the command shows in place of the change with `--dry-run`. */
  preview?: (session: Session, call: Call<Input>) => Promise<Result>;
  /** What the route shows after the change, in place of its result. */
  shows?: (session: Session, target: string) => Promise<Shown>;
  run: (session: Session, call: Call<Input, Seen>) => Promise<Result>;
}

interface Read<Input, Result extends object> extends Definition<Input, Result, Result> {
  run: (session: Session, call: Call<Input>) => Result | Promise<Result>;
}

interface Listing<Input, Item> extends Described {
  input?: z.ZodType<Input>;
  /** Of the route. */
  result: z.ZodType<Page<Item>>;
  command?: Omit<CommandForm, 'asks'> & Layout<Item>;
  /** Of a list of any length, which its route sends page by page: as JSON, or as a CSV file. */
  streams?: 'json' | { fields: readonly (keyof Item & string)[]; fileName: (input: Input) => string };
  /** All items, for the command. */
  run: (session: Session, call: Call<Input>) => Items<Item> | Promise<Items<Item>>;
  /** For the route; by default all items. */
  page?: (session: Session, call: Call<Input>) => Promise<Page<Item>>;
}

/** Result of an operation, and what people see of it in place of a line for each field. */
export interface Outcome {
  result: object;
  text: Printed | undefined;
}

interface Common extends Described {
  example?: object;
  input?: z.ZodType;
  result: z.ZodType;
  command?: CommandForm;
  /** Checks the input. @throws ZodError */
  prepare(call: RawCall): (session: Session) => Promise<Outcome>;
}

export interface ReadOperation extends Common {
  kind: 'read';
}

export interface ChangeOperation
  extends
    Common,
    Pick<Change<never, never, object, unknown>, 'audits' | 'asks' | 'resultId' | 'seen' | 'shows'> {
  kind: 'change';
  preview: Common['prepare'] | undefined;
}

/** Prints all items of a list. */
export type PrintItems = <Item>(items: Items<Item>, layout: Layout<Item>) => Promise<void>;

export interface ListOperation extends Common {
  kind: 'list';
  /** Of a list that its route streams. fileName: under which a browser saves it; undefined for a response to a program. */
  stream?:
    | {
        type: string;
        open(call: RawCall): {
          fileName: string | undefined;
          write: (session: Session) => AsyncIterable<string>;
        };
      }
    | undefined;
  /** For the command. */
  printed(call: RawCall, print: PrintItems): (session: Session) => Promise<void>;
}

/** What people, programs and the console can do, said once: its route, its document and its command are made from it. */
export type Operation = ReadOperation | ChangeOperation | ListOperation;

/** Input of an operation that takes none. */
export const noInput = z.custom<never>();

function parsed<Input>(schema: z.ZodType<Input> = noInput, call: RawCall): Call<Input> {
  return { ...call, input: schema.parse(call.input) };
}

/** Makes the `prepare` of an operation that a session runs at once. */
function preparing<Input, Result extends object, Seen>({
  input,
  command,
  seen,
  run,
}: Pick<Definition<Input, Result, object>, 'input' | 'command'> & {
  seen?: z.ZodType<Seen> | undefined;
  run: (session: Session, call: Call<Input, Seen>) => Result | Promise<Result>;
}) {
  return (raw: RawCall) => {
    const call = { ...parsed(input, raw), seen: raw.seen === undefined ? undefined : seen?.parse(raw.seen) };
    return async (session: Session): Promise<Outcome> => {
      const result = await run(session, call);
      return { result, text: command?.prints?.(result) };
    };
  };
}

/** An operation that changes nothing. */
export function read<Input, Result extends object>(
  definition: Read<Input, NoInfer<Result>> & { result: z.ZodType<Result> },
): ReadOperation {
  return { ...definition, kind: 'read', prepare: preparing(definition) };
}

/** An operation that changes something, and returns what its route shows. */
export function change<Input, Result extends object, Seen>(
  definition: Omit<Change<Input, NoInfer<Result>, Result, Seen>, 'shows'>,
): ChangeOperation {
  return changeOperation<Input, Result, Result, Seen>(definition);
}

/** The same if the route shows something else after it than the command. */
export function changeAndShow<Input, Result extends object, Shown extends object, Seen>(
  definition: Change<Input, Result, Shown, Seen> &
    Required<Pick<Change<Input, Result, Shown, Seen>, 'shows'>>,
): ChangeOperation {
  return changeOperation(definition);
}

function changeOperation<Input, Result extends object, Shown extends object, Seen>(
  definition: Change<Input, Result, Shown, Seen>,
): ChangeOperation {
  const { preview } = definition;
  return {
    ...definition,
    kind: 'change',
    prepare: preparing(definition),
    preview: preview && preparing({ ...definition, seen: undefined, run: preview }),
  };
}

/** What listOf describes. */
const aroundItems = ['{"items":[', '],"next":null}'] as const;

/** An operation that lists all of a kind. */
export function list<Input, Item extends object>(definition: Listing<Input, Item>): ListOperation {
  const { input, command, run, page, streams } = definition;
  return {
    ...definition,
    kind: 'list',
    stream: streams && {
      type: streams === 'json' ? 'application/json' : 'text/csv',
      open(raw) {
        const call = parsed(input, raw);
        return {
          fileName: streams === 'json' ? undefined : streams.fileName(call.input),
          async *write(session) {
            const pages = pagesOf(await run(session, call));
            yield* streams === 'json' ? jsonText(pages, aroundItems) : csvText(pages, streams.fields);
          },
        };
      },
    },
    prepare(raw) {
      const call = parsed(input, raw);
      return async (session) => {
        if (page !== undefined) return { result: await page(session, call), text: undefined };
        const items: Item[] = [];
        for await (const part of pagesOf(await run(session, call))) items.push(...part);
        return { result: { items, next: null }, text: undefined };
      };
    },
    printed(raw, print) {
      const call = parsed(input, raw);
      return async (session) => print(await run(session, call), command ?? { columns: {} });
    },
  };
}
