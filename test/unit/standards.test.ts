import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { asvs5 } from '../standards/asvs-5.ts';
import { owaspApi2023 } from '../standards/owasp-api-2023.ts';
import { rateLimitDraft, rfc6750, rfc8594, rfc9745 } from '../standards/rfc-keys-and-limits.ts';
import { rfc9110, rfc9111 } from '../standards/rfc9110.ts';

const pathOf = (test: string) => fileURLToPath(new URL(`../${test}.test.ts`, import.meta.url));

/** Whether a file has a test of this name, as its source has it. */
function hasTest(path: string, name: string): boolean {
  if (!existsSync(path)) return false;
  const source = readFileSync(path, 'utf8').replaceAll(String.raw`\'`, "'");
  return [`'${name}'`, `"${name}"`, `\`${name}\``].some((text) => source.includes(text));
}

const missingTests = (shown: readonly string[]) =>
  shown.filter((each) => {
    const [path = '', name = ''] = each.split(/: (.+)/);
    return !/^(?:does not apply|deviates)$/.test(path) && !hasTest(pathOf(path), name);
  });

const standards = [rfc9110, rfc9111, rfc6750, rfc9745, rfc8594, rateLimitDraft, owaspApi2023, asvs5];

describe.each(standards)('$title', ({ clauses }) => {
  test.each(clauses)('$clause: $asks', ({ asks, shown }) => {
    expect([asks, ...shown].every((text) => text !== '') && shown.length > 0).toBe(true);
    expect(missingTests(shown)).toEqual([]);
  });

  test('has each clause once', () => {
    const names = clauses.map(({ clause }) => clause);
    expect(new Set(names).size).toBe(names.length);
  });
});
