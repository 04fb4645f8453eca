import { expect, test } from 'vitest';
import { createWrongCodeLimit } from '../../../../../gateway/admin/access/wrong-code-limit.ts';

test('an address has ten wrong codes a minute, and all addresses together a hundred', async () => {
  const limit = createWrongCodeLimit();
  const allowed = async (address: string) => (await limit.charge(address)).allowed;
  for (let attempt = 0; attempt < 10; attempt += 1) expect(await allowed('10.0.0.1')).toBe(true);
  // A right code is not counted.
  await limit.refund('10.0.0.1');
  expect(await allowed('10.0.0.1')).toBe(true);
  expect(await allowed('10.0.0.1')).toBe(false);
  expect(await allowed('10.0.0.2')).toBe(true);
  // Refusals of one address use up nothing of the others.
  for (let attempt = 0; attempt < 200; attempt += 1) expect(await allowed('10.0.0.1')).toBe(false);
  let others = 0;
  for (let address = 3; address < 200; address += 1) if (await allowed(`10.0.0.${address}`)) others += 1;
  expect(others).toBe(89);
  expect(await limit.charge('10.0.0.250')).toEqual({
    allowed: false,
    retryAfterSeconds: expect.any(Number) as number,
  });
});
