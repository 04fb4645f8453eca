import { appendFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

/*
 * All that services have written while the tests ran, and all secrets that were theirs to keep. Both are compared
 * when everything else is over (test/afterwards/).
 */

/**
 * - output: logs and metrics
 * - refusals: answers of 400 and above, with their headers
 * - upstream: requests as the stand-in for the pets service received them
 * - secrets: API keys and signed tokens
 */
export type EvidenceKind = 'output' | 'refusals' | 'upstream' | 'secrets';

const secretPattern = /pets_[0-9A-Za-z]{38}|eyJ[\w-]+\.[\w-]+\.[\w-]+/g;

function append(kind: EvidenceKind, text: string): void {
  appendFileSync(join(inject('evidenceDirectory'), `${kind}-${process.pid}`), text);
}

/** Notes what a service has logged or told in its metrics. */
export function keepOutput(text: string): void {
  append('output', text);
}

/** Notes the answer to a request that was refused. */
export function keepRefusal(status: number, response: string): void {
  if (status >= 400) append('refusals', `${response}\n`);
}

/** Notes what the upstream was told. */
export function keepUpstreamRequests(requests: readonly string[]): void {
  if (requests.length > 0) append('upstream', `${requests.join('\n')}\n`);
}

/** Notes the secrets in a text that is meant to hold some: the answer of `keys issue`, a header for the upstream. */
export function keepSecrets(text: string): void {
  const secrets = text.match(secretPattern) ?? [];
  if (secrets.length > 0) append('secrets', `${secrets.join('\n')}\n`);
}

/** All of one kind, a file at a time: together they may be longer than a string can be. */
export async function* readEvidence(kind: EvidenceKind): AsyncGenerator<string> {
  const directory = inject('evidenceDirectory');
  const names = (await readdir(directory)).filter((name) => name.startsWith(`${kind}-`));
  for (const name of names) yield readFile(join(directory, name), 'utf8');
}

const partLength = 21;

/**
 * A part of a secret that gives it away: of a key none of the nine characters that identify it to people, of a token
 * its signature, since all else of one is no secret.
 */
function tellingPart(secret: string): string {
  const [, , signature] = secret.split('.');
  return signature === undefined ? secret.slice(9, 9 + partLength) : signature.slice(0, partLength);
}

/** Finds secrets in texts, each read once however many secrets there are. */
export function createSecretFinder(secrets: Iterable<string>): (text: string) => string[] {
  const parts = new Set(Array.from(secrets, tellingPart));
  return function findSecrets(text) {
    const found = new Set<string>();
    for (const [run] of text.matchAll(/[\w-]{21,}/g)) {
      for (let start = 0; start + partLength <= run.length; start += 1) {
        const part = run.slice(start, start + partLength);
        if (parts.has(part)) found.add(part);
      }
    }
    return [...found];
  };
}
