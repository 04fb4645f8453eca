/** A change that no rule of plant.ts makes: a mistake that somebody could make. */
export interface ChosenChange {
  source: string;
  /** The line as it is in the source, once, without its indentation. */
  before: string;
  after: string;
  /** Test files that must notice it, the quickest first. */
  tests: readonly string[];
}

const customerKeys = 'faults/customer-keys.test.ts';

export const chosenChanges: readonly ChosenChange[] = [
  {
    source: 'gateway/keys/api-key-cache.ts',
    before: 'const state = apiKeyState(caller, now());',
    after: 'const state = apiKeyState({ ...caller, suspendedAt: undefined }, now());',
    tests: ['unit/gateway/keys'],
  },
  {
    source: 'gateway/quota/quota.ts',
    before: 'const decision = await local.consume(caller.customerId, limitsOf(caller), cost);',
    after: 'const decision = await local.consume(caller.keyHash, limitsOf(caller), cost);',
    tests: [customerKeys],
  },
  {
    source: 'gateway/platform/redis/redis-keys.ts',
    before: 'redisKeys.usagePrefix(place.customerId),',
    after: 'redisKeys.usagePrefix(`cus_${place.keyHash}`),',
    tests: [customerKeys],
  },
  {
    source: 'gateway/control/keys/keys.ts',
    before: 'const issued = await issueFurtherKey(session, customerId, wanted, confine);',
    after: "const issued = await issueKey(session, { ...wanted, plan: 'free' });",
    tests: ['gateway/customers.test.ts'],
  },
  {
    source: 'gateway/platform/redis/scripts/change-record.lua',
    before: "redis.call('HSET', customer, 'rev', string.format('%.0f', changed))",
    after: '',
    tests: ['gateway/quota-model.long.test.ts', 'gateway/customers.test.ts'],
  },
];
