import { expect, test } from 'vitest';
import {
  createMinuteLimit,
  tooManyRequests,
} from '../../../../../../gateway/faces/api/access/minute-limit.ts';

test('an address has its limit a minute, and uses up nothing of any other', async () => {
  const charge = createMinuteLimit(10, 'Too many requests');
  for (let attempt = 0; attempt < 10; attempt += 1) await charge('10.0.0.1');
  for (let attempt = 0; attempt < 200; attempt += 1)
    await expect(charge('10.0.0.1')).rejects.toMatchObject({ code: 'too_many_requests' });
  for (let address = 2; address < 200; address += 1) await charge(`10.0.0.${address}`);
});

test('a refusal says in how many seconds to try again', () => {
  expect([1000, 19_001].map((waitMs) => tooManyRequests('Too many requests', waitMs))).toMatchObject([
    { message: 'Too many requests. Try again in 1 second.', headers: { 'Retry-After': '1' } },
    { message: 'Too many requests. Try again in 20 seconds.', headers: { 'Retry-After': '20' } },
  ]);
});
