import { expect, test } from 'vitest';
import { errorLinesOf } from '../support/checks/alarms.ts';
import { fuzz } from '../support/http/fuzz.ts';
import { shortTimeouts, startBothServices } from '../support/kits/both-services.ts';
import { shared } from '../support/kits/shared.ts';

/* The seed is new in each run; FUZZ_SEED repeats a run. */

const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 32);
const both = shared(() => startBothServices({ ...shortTimeouts, LOG_LEVEL: 'warn' }));

test('40,000 malformed requests to the gateway get an Error body, a success or a clean close', async () => {
  const credential = `Bearer ${both.key}`;
  const statuses = await fuzz({ service: both.gateway, credential, cases: 40_000, seed });
  console.info('responses by status', Object.fromEntries(statuses));
  for (const status of [200, 201, 204, 400, 401, 404, 405]) expect(statuses.get(status)).toBeGreaterThan(100);
  // The pets service behind the gateway has logged no error either.
  expect(errorLinesOf(both.petsService)).toEqual([]);
}, 240_000);

test('4,000 malformed requests to the pets service get an Error body, a refusal by Node, a success or a clean close', async () => {
  const credential = `Bearer ${both.token}`;
  // 100 concurrent creates keep a small database busy for longer than the default quietMs.
  const options = { credential, cases: 4000, seed, quietMs: 250, isBare: true };
  const statuses = await fuzz({ service: both.petsService, ...options });
  console.info('responses by status', Object.fromEntries(statuses));
  for (const status of [200, 201, 400, 401, 404]) expect(statuses.get(status)).toBeGreaterThan(10);
}, 120_000);
