import { InvalidOperation } from '../../control/invalid-operation.ts';

/** Reads standard input as UTF-8. @throws InvalidOperation with the problem for more characters than the given number */
export async function readStandardInput(maxCharacters: number, problem: string): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > maxCharacters) throw new InvalidOperation(problem);
  }
  return text;
}
