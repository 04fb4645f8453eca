import { createInterface } from 'node:readline/promises';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import { printable } from './output.ts';

/**
 * Asks on a terminal whether to go on.
 * @param question a question that can be answered with yes or no
 * @param yes whether --yes was given: then nothing is asked
 * @throws InvalidOperation if the answer is not yes, or there is no terminal to ask on
 */
export async function confirm(question: string, yes: true | undefined): Promise<void> {
  if (yes) return;
  const shown = printable(question);
  if (!process.stdin.isTTY) {
    throw new InvalidOperation(
      `${shown} There is no terminal to ask on: --yes confirms; nothing was changed`,
    );
  }
  // Standard error, because standard output may be read by a program.
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => {
    terminal.once('close', () => resolve(''));
  });
  try {
    const answer = await Promise.race([terminal.question(`${shown} [y/N] `), closed]);
    if (!/^y(es)?$/i.test(answer.trim())) throw new InvalidOperation('not confirmed; nothing was changed');
  } finally {
    terminal.close();
  }
}
