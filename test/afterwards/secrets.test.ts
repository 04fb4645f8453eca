import { expect, test } from 'vitest';
import { readEvidence } from '../support/evidence.ts';

/** Fewer means that the tests which make them have not run. */
const leastSecrets = 100;

test('no log line and no metric of the whole suite holds an API key or a token', async ({ skip }) => {
  const secrets = [...new Set((await readEvidence('secrets')).split('\n').filter(Boolean))];
  const output = await readEvidence('output');
  if (secrets.length < leastSecrets) {
    console.warn('secrets in the output: skipped, since only a part of the suite has run');
    return skip();
  }
  expect(output.match(/"msg":"request"/g)?.length).toBeGreaterThan(1000);
  expect(output).toMatch(/^gateway_requests_total\{/m);
  const leaked = secrets.filter((secret) => output.includes(secret));
  expect(leaked).toEqual([]);
  // Neither the greater part of one: what identifies a key to people is its first nine characters.
  const parts = secrets.map((secret) => secret.slice(9, 30));
  expect(parts.filter((part) => output.includes(part))).toEqual([]);
  // Nor a password that a test has given to a store.
  expect(output).not.toMatch(/hunter2|:secret@/);
});
