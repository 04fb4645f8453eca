import { expect, test } from 'vitest';
import {
  createMinuteLimit,
  tooManyRequests,
} from '../../../../../../gateway/faces/api/access/minute-limit.ts';

test('an address has its limit a minute, and uses up nothing of any other', async () => {
  const charge = createMinuteLimit(10);
  for (let attempt = 0; attempt < 10; attempt += 1) expect(await charge('10.0.0.1')).toBeUndefined();
  for (let attempt = 0; attempt < 200; attempt += 1) expect(await charge('10.0.0.1')).toBeGreaterThan(0);
  for (let address = 2; address < 200; address += 1)
    expect(await charge(`10.0.0.${address}`)).toBeUndefined();
});

test('a refusal says in how many seconds to try again', () => {
  expect([1, 20].map((seconds) => tooManyRequests('Too many requests', seconds).message)).toEqual([
    'Too many requests. Try again in 1 second.',
    'Too many requests. Try again in 20 seconds.',
  ]);
});
