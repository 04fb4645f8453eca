import { afterAll, beforeAll, expect, test } from 'vitest';
import { fuzz } from '../support/http/fuzz.ts';
import { shortTimeouts, startBothServices, type BothServices } from '../support/kits/both-services.ts';

/* The seed is fixed, so that a failure is reproducible. fuzz.long.test.ts uses new seeds. */

let both: BothServices;

beforeAll(async () => {
  both = await startBothServices({ ...shortTimeouts, LOG_LEVEL: 'warn' });
});

afterAll(async () => {
  await both[Symbol.asyncDispose]();
});

test('2,000 malformed requests to the gateway get an Error body, a success or a clean close', async () => {
  const statuses = await fuzz({
    service: both.gateway,
    credential: `Bearer ${both.key}`,
    cases: 2000,
    seed: 1,
    quietMs: 250,
  });
  // The requests reach all layers of the service.
  for (const status of [200, 201, 400, 401, 404, 405]) expect(statuses.get(status)).toBeGreaterThan(0);
});

test('1,000 malformed requests to the pets service get an Error body, a success or a clean close', async () => {
  const statuses = await fuzz({
    service: both.petsService,
    credential: `Bearer ${both.token}`,
    cases: 1000,
    seed: 2,
    quietMs: 250,
  });
  for (const status of [200, 201, 400, 404]) expect(statuses.get(status)).toBeGreaterThan(0);
});
