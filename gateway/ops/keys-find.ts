import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Command } from 'commander';
import { findKey } from '../operations/find-key.ts';
import type { KeyInList } from '../operations/key-filter.ts';
import { keyView } from '../operations/key-view.ts';
import { listKeys } from '../operations/keys.ts';
import { searchKeys } from '../operations/search-keys.ts';
import { printKey } from './key-output.ts';
import { keyLayout } from './keys-list.ts';
import { addListOptions, fieldLayout, outputFormat, printList, type ListOptions } from './list-output.ts';
import { countArgument } from './options.ts';
import { printError } from './output.ts';
import { redisNow, withRedis } from './redis-session.ts';
import { readStandardInput } from './text-file.ts';

/** Hits that a person looks through. */
const defaultLimit = 20;

const layout = {
  ...fieldLayout<KeyInList>({ ID: 'id', NAME: 'name', PLAN: 'plan', STATE: 'state', HINT: 'hint' }),
  csv: keyLayout.csv,
};

interface FindOptions extends ListOptions {
  limit: number;
}

export function keysFindCommand(): Command {
  const command = new Command('find')
    .description(
      'find keys by an id, a hint such as pets_ab12, a SHA-256, or a part of a name or an id; without a text, by the key ' +
        'itself, which is read from standard input, so that it gets into no shell history',
    )
    .argument('[text]', 'what to find, in upper or lower case')
    .option('--limit <n>', 'maximum number of keys', countArgument(1000), defaultLimit);
  return addListOptions(command).action(async (text: string | undefined, options: FindOptions) => {
    const format = outputFormat(options);
    if (text === undefined) {
      const input = process.stdin.isTTY
        ? await askHidden()
        : await readStandardInput(maxInputCharacters, 'the input is too long to be a key');
      const key = await withRedis((session) => findKey(input, session));
      // One object and not an array: at most one key is found.
      if (format !== 'csv') return printKey(key, format === 'json' ? true : undefined);
      return printList(format, layout, [keyView(key, redisNow())]);
    }
    const found = await withRedis((session) =>
      searchKeys(text, { session, pages: listKeys(session), max: options.limit }),
    );
    const [first] = found.keys;
    if (format === 'table' && first !== undefined && found.keys.length === 1 && !found.more) {
      return printKey(first, undefined);
    }
    const views = found.keys.map((key) => keyView(key, redisNow()));
    await printList(format, layout, views);
    if (found.more)
      printError(`note: there are more than ${options.limit}: give more of the text, or --limit`);
  });
}

const maxInputCharacters = 1_000_000;

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
