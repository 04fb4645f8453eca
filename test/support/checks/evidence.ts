import { appendFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

/*
 * Records what the services write, and the secrets that they must not expose. test/afterwards/ searches for the secrets.
 */

/**
 * - output: logs and metrics
 * - refusals: responses with a status of 400 or above, and their headers
 * - upstream: requests as the stand-in for the pets service received them
 * - secrets: API keys, signed tokens; tokens of the operators' API; codes, cookies and tokens of the console and the portal
 */
export type EvidenceKind = 'output' | 'refusals' | 'upstream' | 'secrets';

const secretPattern =
  /(?:pets|box)_[0-9A-Za-z]{38}|ops_[\w-]{43}|eyJ[\w-]+\.[\w-]+\.[\w-]+|(?<=#code=)[\w-]{22}|(?<=(?:console|portal)-session[\d-]*=)[\w-]{43}|(?<="csrfToken":")[\w-]{43}/g;

/** Undefined for a command such as `npm run histories`, which starts services without Vitest. */
export function evidenceDirectory(): string | undefined {
  return process.env['VITEST'] === undefined ? undefined : inject('evidenceDirectory');
}

function append(kind: EvidenceKind, text: string): void {
  const directory = evidenceDirectory();
  if (directory !== undefined) appendFileSync(join(directory, `${kind}-${process.pid}`), text);
}

/** Records logs or metrics of a service. */
export function recordOutput(text: string): void {
  append('output', text);
}

/** Records the response to a refused request. */
export function recordRefusal(status: number, response: string): void {
  if (status >= 400) append('refusals', `${response}\n`);
}

/** Records requests that the upstream received. */
export function recordUpstreamRequests(requests: readonly string[]): void {
  if (requests.length > 0) append('upstream', `${requests.join('\n')}\n`);
}

/** Records the secrets in a text that may contain some, such as the output of `keys issue`. */
export function recordSecrets(text: string): void {
  const secrets = text.match(secretPattern) ?? [];
  if (secrets.length > 0) append('secrets', `${secrets.join('\n')}\n`);
}

/** Reads one kind file by file, because all of it may exceed the maximum length of a string. */
export async function* readEvidence(kind: EvidenceKind): AsyncGenerator<string> {
  const directory = inject('evidenceDirectory');
  const names = (await readdir(directory)).filter((name) => name.startsWith(`${kind}-`));
  for (const name of names) yield readFile(join(directory, name), 'utf8');
}

const partLength = 21;

/** The part to search for: of a key after the characters that may be shown, of a signed token its signature. */
function secretPart(secret: string): string {
  const [, , signature = secret] = secret.split('.');
  const [prefix = ''] = /^(?:pets|box)_/.exec(secret) ?? [];
  const start = prefix === '' ? 0 : prefix.length + 4;
  return signature.slice(start, start + partLength);
}

/** Finds secrets in texts. Reads each text once, for any number of secrets. */
export function createSecretFinder(secrets: Iterable<string>): (text: string) => string[] {
  const parts = new Set(Array.from(secrets, secretPart));
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
