import { readFile } from 'node:fs/promises';

/** The block of code in a document that contains a text, so that tests run what the document shows. */
export async function codeBlock(document: string, language: string, containing: string): Promise<string> {
  const text = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8');
  const blocks = Array.from(text.matchAll(/^ *```(\w+)\n(.*?)^ *```$/gms));
  const found = blocks.filter(([, name, code = '']) => name === language && code.includes(containing));
  if (found.length !== 1)
    throw new Error(`${document} has ${found.length} blocks of ${language} with ${containing}`);
  return found[0]?.[2] ?? '';
}
