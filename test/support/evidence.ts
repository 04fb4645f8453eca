import { appendFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

/*
 * All that services have written while the tests ran, and all secrets that were theirs to keep. Both are compared
 * when everything else is over (test/afterwards/).
 */

/** API keys and signed tokens. */
const secretPattern = /pets_[0-9A-Za-z]{38}|eyJ[\w-]+\.[\w-]+\.[\w-]+/g;

function append(kind: 'output' | 'secrets', text: string): void {
  appendFileSync(join(inject('evidenceDirectory'), `${kind}-${process.pid}`), text);
}

/** Notes what a service has logged or told in its metrics. */
export function keepOutput(text: string): void {
  append('output', text);
}

/** Notes the secrets in a text that is meant to hold some: the answer of `keys issue`, a header for the upstream. */
export function keepSecrets(text: string): void {
  const secrets = text.match(secretPattern) ?? [];
  if (secrets.length > 0) append('secrets', `${secrets.join('\n')}\n`);
}

/** All of one kind. */
export async function readEvidence(kind: 'output' | 'secrets'): Promise<string> {
  const directory = inject('evidenceDirectory');
  const names = (await readdir(directory)).filter((name) => name.startsWith(`${kind}-`));
  return (await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))).join('\n');
}
