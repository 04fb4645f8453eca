import { expect, test } from 'vitest';
import { createCaller } from '../../../../gateway/keys/api-key-cache.ts';
import type { Plans } from '../../../../gateway/quota/plans.ts';
import { knownLimits } from '../../../../gateway/quota/quota-decision.ts';

test('a caller without known limits gets 503, and others their limits', () => {
  const caller = createCaller(
    { id: 'k', customerId: 'cus_k', name: '', plan: 'p', hint: '', createdAt: '', rev: 1 },
    'hash',
  );
  const limits = { minute: 1, day: 2 };
  const plans = (known?: typeof limits) => ({ limitsOf: () => known }) as unknown as Plans;
  expect(knownLimits(plans(limits), caller)).toBe(limits);
  expect(() => knownLimits(plans(), caller)).toThrow('The limits of this API key are not set up');
});
