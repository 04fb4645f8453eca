import { createInterface } from 'node:readline';
import { Option } from 'commander';
import { InvalidOperation } from '../../control/invalid-operation.ts';

export interface YesOption {
  yes?: true;
}

/** `--yes`, for commands that ask before they do something that can't be undone. */
export function yesOption(): Option {
  return new Option('--yes', 'do not ask; needed where there is no terminal');
}

/**
 * Asks on the terminal before something that can't be undone.
 * @param question a whole sentence that names what will happen, with its question mark
 * @throws InvalidOperation if the operator does not agree, or there is no terminal to ask on
 */
export async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new InvalidOperation(`${question} There is no terminal to ask on: give --yes to do it`);
  }
  if (!/^\s*y(es)?\s*$/i.test(await ask(`${question} [y/N] `))) {
    throw new InvalidOperation('nothing was changed');
  }
}

/** @returns an empty line for Ctrl-C and Ctrl-D */
async function ask(prompt: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.setPrompt(prompt);
  lines.prompt();
  lines.once('SIGINT', () => lines.close());
  try {
    for await (const line of lines) return line;
    process.stderr.write('\n');
    return '';
  } finally {
    lines.close();
  }
}
