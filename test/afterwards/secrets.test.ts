import { expect, test } from 'vitest';
import { createSecretFinder, readEvidence, type EvidenceKind } from '../support/checks/evidence.ts';

/** Fewer means that the tests which make them have not run. */
const leastSecrets = 100;

test('no log line, no metric, no error answer and no request upstream of the whole suite holds a secret', async ({
  skip,
}) => {
  const secrets = new Set<string>();
  for await (const text of readEvidence('secrets')) {
    for (const secret of text.split('\n')) if (secret !== '') secrets.add(secret);
  }
  if (secrets.size < leastSecrets) {
    console.warn('secrets in the output: skipped, since only a part of the suite has run');
    return skip();
  }
  const keys = [...secrets].filter((secret) => secret.startsWith('pets_'));
  expect(keys.length).toBeLessThan(secrets.size);
  const search = async (kind: EvidenceKind, findSecrets: (text: string) => string[]) => {
    const found = [];
    for await (const text of readEvidence(kind)) found.push(...findSecrets(text));
    return found;
  };

  const findSecrets = createSecretFinder(secrets);
  // What is searched is there, and would be found.
  let requests = 0;
  let metrics = 0;
  for await (const text of readEvidence('output')) {
    requests += text.match(/"msg":"request"/g)?.length ?? 0;
    metrics += text.match(/^gateway_requests_total\{/gm)?.length ?? 0;
    // Nor a password that a test has given to a store.
    expect(/hunter2|:secret@/.exec(text)?.[0]).toBeUndefined();
  }
  expect(requests).toBeGreaterThan(1000);
  expect(metrics).toBeGreaterThan(0);
  for (const secret of [...secrets].slice(0, 100)) {
    expect(findSecrets(`{"msg":"x${secret}","y":1}`)).not.toEqual([]);
  }

  expect(await search('output', findSecrets)).toEqual([]);
  expect(await search('refusals', findSecrets)).toEqual([]);
  // Tokens are what goes there in place of keys.
  expect(await search('upstream', createSecretFinder(keys))).toEqual([]);
});
