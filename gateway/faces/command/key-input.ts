import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { InvalidOperation } from '../../control/invalid-operation.ts';

const maxInputCharacters = 1_000_000;

/** Reads a text with an API key from standard input, so that it gets into no shell history. @throws InvalidOperation */
export async function readKeyInput(): Promise<string> {
  if (process.stdin.isTTY) return askHidden();
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
