import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import type { ChangedField } from '../../control/audit/audit-log.ts';
import { assertNotApiKey } from '../../control/keys/pasted-key.ts';
import type {
  CommandForm,
  Operation,
  OperationContext,
  OptionForm,
  Outcome,
  PrintItems,
  RawCall,
} from '../../control/operation.ts';
import { countPlanCustomers } from '../../control/plans/plan-customers.ts';
import { operations } from '../../control/registry.ts';
import type { Session } from '../../control/session.ts';
import { exampleOf } from '../../control/targets.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { publicOrigin } from '../../platform/config/endpoints.ts';
import { fieldType, mayLack } from '../field-type.ts';
import { addListOptions, printList } from './list-output.ts';
import {
  asOption,
  assertNoKey,
  durationArgument,
  jsonOption,
  targetArgument,
  timeArgument,
  type ChangeOptions,
} from './options.ts';
import { formatFields, print, printable, printError, printFields, printResult } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';
import { confirm, readKeyInput } from './terminal.ts';

/** Null as the value of an option: commander takes null for an empty text. */
const nothing = Symbol('null');

/** An option with the field that it is for. */
interface FieldOption {
  field: string;
  option: Option;
  /** Of an option whose presence is the value. */
  value?: boolean;
}

/** A command of a noun: those made from operations, and others. */
export function nounCommand(noun: string, description: string, ...others: Command[]): Command {
  const command = new Command(noun).description(description);
  for (const operation of operations) {
    if (operation.command?.usage.startsWith(`${noun} `))
      command.addCommand(operationCommand(operation, operation.command));
  }
  for (const other of others) command.addCommand(other);
  return command;
}

/** A command of one word that is made from an operation. */
export function operationOf(word: string): Command {
  const found = operations.find(({ command }) => command?.usage === word);
  if (found?.command === undefined) throw new Error(`no operation has the command ${word}`);
  return operationCommand(found, found.command);
}

/** What is typed after `ops`, by the command that is made from an operation. */
export const operationExamples = Object.fromEntries(
  operations.flatMap(({ command }) =>
    command === undefined ? [] : [[wordsOf(command), command.examples ?? [exampleOf(command.usage)]]],
  ),
);

/** Words that lead to a command, without its argument. */
function wordsOf({ usage }: CommandForm): string {
  return usage.replace(/ [<[].*/, '');
}

function operationCommand(operation: Operation, form: CommandForm): Command {
  const { input, summary, kind } = operation;
  const command = new Command(wordsOf(form).split(' ').at(-1)).description(form.says ?? lowerFirst(summary));
  const argument = /<([\w-]+)>/.exec(form.usage)?.[1];
  const { [argument ?? '']: argumentField, ...fields } = input instanceof z.ZodObject ? input.shape : {};
  if (form.argument) command.argument(form.usage.replace(/^.* /, ''), form.argument.says);
  else if (argument !== undefined)
    command.argument(`<${argument}>`, '', argumentParser(argument, argumentField));
  const options = Object.entries(fields).flatMap(([field, schema]) =>
    schema instanceof z.ZodType
      ? fieldOptions(field, schema, form.options?.[field] ?? formOf(operation, field))
      : [],
  );
  for (const { option } of options) command.addOption(option);
  if (kind === 'change') {
    if (operation.preview) command.option('--dry-run', 'change nothing; show what would be changed');
    if (form.asks) command.option('--yes', 'do not ask; needed where there is no terminal');
    command.addOption(asOption());
  }
  if (kind === 'list') addListOptions(command);
  else command.addOption(jsonOption());
  return command.action(async () => {
    const target = String(command.processedArgs[0] ?? '');
    const given = inputOf(command, options);
    if (operation.http?.startsWith('PATCH') === true && Object.keys(given).length === 0)
      command.error(`error: nothing to set: see ops ${wordsOf(form)} --help`);
    const input = argument !== undefined && argumentField ? { ...given, [argument]: target } : given;
    await act(operation, form, command, { target, input, context });
  });
}

/** The command prints all pages of a list. */
const formOf = ({ kind }: Operation, field: string) =>
  kind === 'list' && ['after', 'limit'].includes(field) ? false : undefined;

async function act(operation: Operation, { asks, argument }: CommandForm, command: Command, call: RawCall) {
  const { as, json, yes, dryRun } = command.opts<ChangeOptions & { yes?: true; dryRun?: true }>();
  switch (operation.kind) {
    case 'list': {
      const print: PrintItems = (items, layout) => printList(command.opts(), items, layout);
      return withRedis(operation.printed(call, print));
    }
    case 'read':
      return printOutcome(await withRedis(await readerOf(operation, argument, call, command)), json);
    case 'change': {
      const { preview } = operation;
      const run = operation.prepare(call);
      if (dryRun && preview) return printOutcome(await withRedis(preview(call)), json);
      if (asks !== undefined && !yes) {
        const question = await withRedis(async (session) => asks(session, call.target));
        if (question !== undefined) await confirm(printable(question));
      }
      return printOutcome(await withChanges(as, run), json);
    }
  }
}

/** Runs an operation on what its argument means, or the secret from standard input. */
async function readerOf(
  { prepare }: Extract<Operation, { kind: 'read' }>,
  argument: CommandForm['argument'],
  call: RawCall,
  { args }: Command,
) {
  if (argument === undefined) return prepare(call);
  const [text] = args;
  const secret = text === undefined ? await readKeyInput() : '';
  return async (session: Session) => {
    const target = await (text === undefined
      ? argument.findSecret(secret, session)
      : argument.find(text, session));
    return prepare({ ...call, target })(session);
  };
}

async function printOutcome({ result, text }: Outcome, json: true | undefined): Promise<void> {
  if (json || text === undefined) printResult(result, json);
  else if (typeof text === 'string') await print(`${printable(text)}\n`);
  else if (isChange(text)) await print(`${formatFields(text).join('\n')}\n`);
  else printFields(text);
}

const isChange = (text: object): text is readonly ChangedField[] => Array.isArray(text);

/** Text of an id, or of a field. */
function argumentParser(name: string, schema: unknown): (text: string) => unknown {
  if (!(schema instanceof z.ZodType)) return targetArgument(name);
  return (text) => {
    assertNotApiKey(text);
    return checked(schema, text);
  };
}

/** Fields whose option says their name once more, in place of `<text>`. */
const namedFields = new Set(['name', 'plan', 'scopes', 'types']);

function fieldOptions(field: string, schema: z.ZodType, form: OptionForm | false = {}): FieldOption[] {
  if (form === false) return [];
  const type = fieldType(schema);
  const name = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const placeholder = { number: 'n', boolean: type, list: 'text', text: 'text' }[type];
  const {
    flags = `--${name} <${namedFields.has(field) ? field : placeholder}>`,
    says = lowerFirst(descriptionOf(schema)),
  } = form;
  if (type === 'boolean' && form.flags !== undefined) {
    const [on = '', off] = flags.split(' ');
    const [saysOn = '', saysOff = ''] = says.split(' | ');
    return [
      { field, option: new Option(on, saysOn).conflicts(off?.slice(2) ?? []), value: true },
      ...(off === undefined ? [] : [{ field, option: new Option(off, saysOff), value: false }]),
    ];
  }
  const parse = parserOf(schema, type, form);
  const option = new Option(flags, says).argParser(parse);
  if (form.default !== undefined) option.default(parse(form.default), form.default);
  return [{ field, option: option.makeOptionMandatory(!mayLack(schema)) }];
}

/** Words of a field. One that may be absent has those of its content. */
function descriptionOf(schema: z.ZodType): string {
  if (schema.description !== undefined) return schema.description;
  const content = 'unwrap' in schema && typeof schema.unwrap === 'function' ? schema.unwrap() : undefined;
  return content instanceof z.ZodType ? descriptionOf(content) : '';
}

/** Text to the field's JSON, which the schema checks. */
function parserOf(schema: z.ZodType, type: string, form: OptionForm): (text: string) => unknown {
  const toJson = jsonParser(type, form);
  return (text) => {
    if (text === form.nothing) return nothing;
    assertNoKey(text);
    return checked(schema, toJson(text));
  };
}

function jsonParser(type: string, { from }: OptionForm): (text: string) => unknown {
  if (from === 'duration') return (text) => durationArgument({ min: 0 })(text) / 1000;
  if (from !== undefined) return (text) => timeArgument(from)(text).toISOString();
  if (type === 'number')
    return (text) => (/^\d+(?:\.\d+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text);
  if (type === 'boolean') return (text) => (text === 'true' || text === 'false' ? text === 'true' : text);
  return type === 'list' ? (text) => text.split(/[, ]+/) : (text) => text;
}

/** @throws InvalidArgumentError */
function checked(schema: z.ZodType, value: unknown): unknown {
  const { error } = schema.safeParse(value);
  if (error === undefined) return value;
  throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
}

function inputOf(command: Command, options: readonly FieldOption[]): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const { field, option, value } of options) {
    const given: unknown = command.getOptionValue(option.attributeName());
    if (given !== undefined) input[field] = value ?? (given === nothing ? null : given);
  }
  return input;
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** Who can run the command may do all. */
const context: OperationContext = {
  publicOrigin() {
    const config = loadConfig(process.env);
    if (config.publicUrl === undefined)
      printError('warning: PUBLIC_URL is not set, so the address is a guess');
    return publicOrigin(config);
  },
  planCustomers: ({ redis }) => countPlanCustomers(redis),
  warn: (text) => printError(`warning: ${text}`),
  get webhookAllowedNetworks() {
    return loadConfig(process.env).webhookAllowedNetworks;
  },
  assertScopes() {},
};
