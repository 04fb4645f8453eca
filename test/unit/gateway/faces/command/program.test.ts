import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { examples, program } from '../../../../../gateway/faces/command/program.ts';
import { keyFields } from '../../../../../gateway/limits/record-fields.ts';

/** Every command with the words that lead to it. */
function commandsBelow(command: Command, words: string[] = []): { command: Command; words: string[] }[] {
  const below = command.commands.flatMap((child) => commandsBelow(child, [...words, child.name()]));
  return [{ command, words }, ...below];
}

const commands = commandsBelow(program);

test('every option says what it is', () => {
  const options = commands.flatMap(({ command }) => command.createHelp().visibleOptions(command));
  expect(options.length).toBeGreaterThan(100);
  expect(options.filter(({ description }) => description === '')).toEqual([]);
});

test.each([
  [['usage', 'export'], "required option '--from <date>' not specified"],
  [['bans', 'add', 'key_1', '--for', '1h'], "required option '--reason <text>' not specified"],
])('ops %j names the option that is missing', async (words, complaint) => {
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow(complaint);
});

test('keys issue has an option for each field of a key, and keys set for those that are its own', () => {
  const optionsOf = (path: string) =>
    commands.find(({ words }) => words.join(' ') === path)?.command.options.map(({ long }) => long);
  const own = ['name', ...Object.keys(keyFields)].map(
    (field) => `--${field.replace(/At$/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
  expect(optionsOf('keys issue')).toEqual(expect.arrayContaining(['--plan', '--minute', ...own]));
  const ofEachChange = ['--as', '--json', '--reason'];
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
