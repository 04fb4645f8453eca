import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { InvalidOperation } from '../../control/invalid-operation.ts';

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

const maxInputCharacters = 1_000_000;

/** Reads a text with an API key from standard input, so that it gets into no shell history. @throws InvalidOperation */
export async function readKeyInput(): Promise<string> {
  if (process.stdin.isTTY) return ask('API key (not shown): ', { isHidden: true });
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > maxInputCharacters) throw new InvalidOperation('the input is too long to be a key');
  }
  return text;
}

const silent = new Writable({ write: (_chunk, _encoding, done) => done() });

/** Asks for a line. @returns an empty one for Ctrl-C and Ctrl-D */
async function ask(prompt: string, { isHidden = false } = {}): Promise<string> {
  const output = isHidden ? silent : process.stderr;
  const lines = createInterface({ input: process.stdin, output, prompt, terminal: true });
  lines.prompt();
  // Only now: what is pasted before the terminal is silent would be shown.
  if (isHidden) process.stderr.write(prompt);
  lines.once('SIGINT', () => lines.close());
  try {
    for await (const line of lines) return line;
    if (!isHidden) process.stderr.write('\n');
    return '';
  } finally {
    lines.close();
    if (isHidden) process.stderr.write('\n');
  }
}
