import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { errorMessage } from '#runtime/error-message.ts';
import { InvalidOperation } from '../operations/invalid-operation.ts';

/** Reads standard input as UTF-8. @throws InvalidOperation with the problem for more characters than the given number */
export async function readStandardInput(maxCharacters: number, problem: string): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > maxCharacters) throw new InvalidOperation(problem);
  }
  return text;
}

/** Reads a file of UTF-8, with its SHA-256 for the audit log. @throws InvalidOperation */
export async function readTextFile(path: string): Promise<{ text: string; sha256: string }> {
  try {
    const bytes = await readFile(path);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, sha256: hash('sha256', bytes, 'hex') };
  } catch (error) {
    throw new InvalidOperation(`can't read ${path}: ${errorMessage(error)}`);
  }
}
