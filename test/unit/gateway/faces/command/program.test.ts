import { CommanderError, type Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { examples } from '../../../../../gateway/faces/command/examples.ts';
import { program } from '../../../../../gateway/faces/command/program.ts';
import { describeUsageError } from '../../../../../gateway/faces/command/usage-error.ts';
import { keyFields } from '../../../../../gateway/limits/record-fields.ts';

/** Every command with the words that lead to it. */
function commandsBelow(command: Command, words: string[] = []): { command: Command; words: string[] }[] {
  const below = command.commands.flatMap((child) => commandsBelow(child, [...words, child.name()]));
  return [{ command, words }, ...below];
}

const commands = commandsBelow(program);
const groups = commands.filter(({ command }) => command.commands.length > 0);

/** What the command line says about arguments that no command runs with. */
async function complaintAbout(words: readonly string[]): Promise<string> {
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return describeUsageError(error).replaceAll('\n', ' ');
    throw error;
  }
  throw new Error(`ops ${words.join(' ')} did something`);
}

/** The two last letters change places: the mistake that typing fast makes. */
function mistyped(name: string): string {
  const letters = name.slice(0, -2);
  const [last = '', beforeLast = ''] = Array.from(name).toReversed();
  return last === beforeLast ? `${letters}${last}` : `${letters}${last}${beforeLast}`;
}

describe('a mistyped word gets a suggestion', () => {
  test('if it is a command, at each level', async () => {
    expect(groups.length).toBeGreaterThanOrEqual(6);
    for (const { command, words } of groups) {
      for (const child of command.createHelp().visibleCommands(command)) {
        const wrong = mistyped(child.name());
        expect(await complaintAbout([...words, wrong])).toBe(
          `unknown command '${wrong}' (Did you mean ${child.name()}?)`,
        );
      }
    }
  });

  test('if it is an option, of every command', async () => {
    let options = 0;
    for (const { command, words } of commands) {
      const longOptions = command.createHelp().visibleOptions(command);
      for (const { long, description } of longOptions.filter((option) => option.long !== '--help')) {
        expect(description, `${words.join(' ')} ${long}`).not.toBe('');
        const wrong = mistyped(long ?? '');
        const complaint = await complaintAbout([...words, wrong]);
        expect(complaint, words.join(' ')).toMatch(`unknown option '${wrong}' (Did you mean`);
        expect(complaint, words.join(' ')).toContain(String(long));
        options += 1;
      }
    }
    expect(options).toBeGreaterThan(100);
  });
});

test('an option that is missing is named, unless another one is mistyped', async () => {
  expect(await complaintAbout(['usage', 'export'])).toBe("required option '--from <date>' not specified");
  expect(await complaintAbout(['bans', 'add', 'key_1', '--for', '1h'])).toBe(
    "required option '--reason <text>' not specified",
  );
});

test('every command that takes --json takes --output json', () => {
  for (const { command, words } of commands) {
    const long = (name: string) => command.options.find((option) => option.long === name);
    if (long('--json') === undefined) continue;
    expect(long('--output')?.argChoices, words.join(' ')).toContain('json');
  }
});

test('keys issue has an option for each field of a key, and keys set for those that are its own', () => {
  const optionsOf = (path: string) =>
    commands.find(({ words }) => words.join(' ') === path)?.command.options.map(({ long }) => long);
  const own = ['name', ...Object.keys(keyFields)].map(
    (field) => `--${field.replace(/At$/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
  expect(optionsOf('keys issue')).toEqual(expect.arrayContaining(['--plan', '--minute', ...own]));
  const ofEachChange = ['--as', '--json', '--output', '--reason'];
  expect(optionsOf('keys set')).toEqual([...own, ...ofEachChange]);
});

describe('every command that lists', () => {
  const lists = ['keys list', 'bans list', 'plans list', 'audit', 'usage show', 'top'];

  test.each(lists)('%s takes --output table, json or csv, and --json', (path) => {
    const found = commands.find(({ words }) => words.join(' ') === path);
    const choices = found?.command.options.find(({ long }) => long === '--output')?.argChoices;
    expect(choices).toEqual(['table', 'json', 'csv']);
    expect(found?.command.options.map(({ long }) => long)).toContain('--json');
  });
});

describe('the examples of the help', () => {
  test('are valid arguments of the command that shows them', () => {
    for (const [name, lines] of Object.entries(examples)) {
      const found = commands.find(({ words }) => words.join(' ') === name);
      const help: string[] = [];
      found?.command.configureOutput({ writeOut: (text) => help.push(text) }).outputHelp();
      for (const line of lines) {
        const { command, words = [] } = found ?? {};
        const given = Array.from(
          line.replace(/ > .*/, '').matchAll(/"([^"]*)"|\S+/g),
          ([word, quoted]) => quoted ?? word,
        );
        expect(given.slice(0, words.length), line).toEqual(words);
        // Throws for an invalid value.
        const { operands = [], unknown } = command?.parseOptions(given.slice(words.length)) ?? {};
        expect(unknown, line).toEqual([]);
        const wanted = command?.registeredArguments ?? [];
        const required = wanted.filter((argument) => argument.required).length;
        expect(operands.length, line).toBeGreaterThanOrEqual(required);
        const most = wanted.some(({ variadic }) => variadic) ? Infinity : wanted.length;
        expect(operands.length, line).toBeLessThanOrEqual(most);
        expect(help.join(''), line).toContain(`\n  $ ops ${line}\n`);
      }
    }
  });

  test('are there for each command that takes arguments', () => {
    const taking = commands.filter(({ command }) =>
      command.registeredArguments.some(({ required }) => required),
    );
    const without = taking.map(({ words }) => words.join(' ')).filter((name) => examples[name] === undefined);
    expect(taking.length).toBeGreaterThan(10);
    expect(without).toEqual([]);
  });
});
