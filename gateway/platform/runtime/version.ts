import { readFileSync } from 'node:fs';

/** Version of this project. */
export function readVersion(): string {
  const json: unknown = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  if (json instanceof Object && 'version' in json && typeof json.version === 'string') return json.version;
  throw new Error('package.json has no version');
}
