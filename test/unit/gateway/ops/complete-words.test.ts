import { Command, Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { completeWords } from '../../../../gateway/ops/complete-words.ts';

const program = new Command('ops').addCommand(new Command('__hidden'), { hidden: true });
const keys = program.command('keys').description('API keys');
keys.command('revoke').argument('<id>').option('--yes', 'do not ask');
keys
  .command('list')
  .option('--plan <plan>')
  .option('--json', 'print JSON')
  .addOption(new Option('--state <state>').choices(['valid', 'revoked']));
keys.command('issue').option('--name <name>').option('--from <file>');
program.command('plans').command('set').argument('<name>');
program.command('usage').argument('<id>').command('export').option('--days <n>');
program.command('tag').argument('<id>').argument('<words...>');

const valuesOf = (...words: string[]) => completeWords(program, words).candidates.map(({ value }) => value);
const kindOf = (...words: string[]) => completeWords(program, words).kind;

describe('an unfinished command is completed with', () => {
  test('commands, none of them hidden', () => {
    expect(valuesOf('')).toEqual(['keys', 'plans', 'usage', 'tag', 'help']);
    expect(valuesOf('keys', 're')).toEqual(['revoke']);
    expect(valuesOf('nope', '')).toEqual([]);
    const withHelp = new Command('ops').addCommand(new Command('help'));
    withHelp.command('keys').command('list');
    const values = completeWords(withHelp, ['help', 'keys', 'l']).candidates.map(({ value }) => value);
    expect(values).toEqual(['list']);
  });

  test('options that are not given yet, also after an argument', () => {
    expect(valuesOf('keys', 'list', '--')).toEqual(['--plan', '--json', '--state', '--help']);
    expect(valuesOf('keys', 'list', '--json', '--js')).toEqual([]);
    expect(valuesOf('keys', 'revoke', 'key_1', '-')).toEqual(['--yes', '--help']);
    // After two dashes there are only arguments.
    expect(valuesOf('keys', 'list', '--', '--')).toEqual([]);
  });

  test('choices of an option, however its value is written', () => {
    for (const words of [
      ['--state', 're'],
      ['--state=re'],
      // As bash splits it.
      ['--state', '=', 're'],
    ]) {
      expect(valuesOf('keys', 'list', ...words)).toEqual(['revoked']);
    }
    expect(valuesOf('keys', 'list', '--state', '=')).toEqual(['valid', 'revoked']);
    // The value of an option is no command, and no argument.
    expect(valuesOf('keys', 'list', '--plan', 'revoke', '--sta')).toEqual(['--state']);
  });

  test('values by the kind of the argument or option', () => {
    expect(kindOf('keys', 'revoke', 'key_')).toBe('key-id');
    expect(kindOf('keys', 'revoke', '--yes', '')).toBe('key-id');
    expect(kindOf('keys', 'revoke', 'key_1', '')).toBeUndefined();
    expect(kindOf('keys', 'list', '--plan', '')).toBe('plan');
    expect(kindOf('keys', 'list', '--plan=f')).toBe('plan');
    expect(completeWords(program, ['keys', 'list', '--plan=f']).prefix).toBe('f');
    expect(kindOf('plans', 'set', '')).toBe('plan-or-anonymous');
    expect(kindOf('keys', 'issue', '--from', '')).toBe('file');
    // The name of a customer.
    expect(kindOf('keys', 'issue', '--name', '')).toBeUndefined();
    expect(kindOf('tag', 'key_1', 'word', 'word', '')).toBeUndefined();
  });

  test('both, where a command has subcommands and an argument', () => {
    expect(valuesOf('usage', '')).toContain('export');
    expect(kindOf('usage', '')).toBe('key-id');
    expect(valuesOf('usage', 'export', '--d')).toEqual(['--days']);
    expect(valuesOf('usage', 'key_1', '')).toEqual([]);
  });
});
