import { expect, test } from 'vitest';
import { createSecretFinder, readEvidence, type EvidenceKind } from '../support/checks/evidence.ts';

/** A full run creates more secrets; fewer mean that only some tests ran. */
const minSecrets = 100;

test('no log line, metric, error response or upstream request of the whole suite contains a secret', async ({
  skip,
}) => {
  const secrets = new Set<string>();
  for await (const text of readEvidence('secrets')) {
    for (const secret of text.split('\n')) if (secret !== '') secrets.add(secret);
  }
  if (secrets.size < minSecrets) {
    console.warn('search for secrets skipped: only part of the suite ran');
    return skip();
  }
  const keys = [...secrets].filter((secret) => /^(?:pets|box)_/.test(secret));
  expect(keys.length).toBeLessThan(secrets.size);
  /** Each with what is around it, since nothing else tells where it comes from. */
  const search = async (kind: EvidenceKind, findSecrets: (text: string) => string[]) => {
    const found = [];
    for await (const text of readEvidence(kind))
      for (const part of findSecrets(text)) {
        const at = text.indexOf(part);
        found.push(text.slice(Math.max(0, at - 500), at + 200));
      }
    return found;
  };

  const findSecrets = createSecretFinder(secrets);
  // Guards against an empty search: the output has content, and a secret in it would be found.
  let loggedRequests = 0;
  let metricSamples = 0;
  for await (const text of readEvidence('output')) {
    loggedRequests += text.match(/"msg":"request"/g)?.length ?? 0;
    metricSamples += text.match(/^gateway_requests_total\{/gm)?.length ?? 0;
    // Passwords that tests set for Redis and PostgreSQL, and those of private Redis servers.
    expect(/hunter2|:secret@|redis:\/\/:/.exec(text)?.[0]).toBeUndefined();
  }
  expect(loggedRequests).toBeGreaterThan(1000);
  expect(metricSamples).toBeGreaterThan(0);
  for (const secret of [...secrets].slice(0, 100)) {
    expect(findSecrets(`{"msg":"x${secret}","y":1}`)).not.toEqual([]);
  }

  expect(await search('output', findSecrets)).toEqual([]);
  expect(await search('refusals', findSecrets)).toEqual([]);
  // Internal tokens replace API keys in upstream requests, so only keys are searched for.
  expect(await search('upstream', createSecretFinder(keys))).toEqual([]);
});
