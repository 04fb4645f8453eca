import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Command } from 'commander';
import { findKey } from '../operations/find-key.ts';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import { printKey } from './key-store.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { withRedis } from './redis-session.ts';

export function keysFindCommand(): Command {
  return new Command('find')
    .description(
      'the record of a key that is read from standard input, so that it gets into no shell history',
    )
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const text = process.stdin.isTTY ? await askHidden() : await readInput();
      printKey(await withRedis((session) => findKey(text, session)), json);
    });
}

const maxInputCharacters = 1_000_000;

async function readInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > maxInputCharacters) throw new InvalidOperation('the input is too long to be a key');
  }
  return text;
}

/** Asks for a line that the terminal does not show. */
async function askHidden(): Promise<string> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  // Only now: what is pasted before the terminal is silent would be shown.
  process.stderr.write('API key (not shown): ');
  lines.once('SIGINT', () => lines.close());
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
