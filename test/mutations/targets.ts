const model = 'gateway/quota-model.long.test.ts';
const direct = 'gateway/scripts.test.ts';
const record = 'gateway/usage-record.test.ts';
const giveBack = 'gateway/give-back.test.ts';
const units = ['unit/gateway/quota', 'unit/gateway/limits', 'unit/gateway/keys'];

/** Test files that concern a source, the quickest first. */
export interface Target {
  source: string;
  tests: readonly string[];
}

const scripts: Readonly<Record<string, readonly string[]>> = {
  'add-failures-1.lua': ['gateway/failures.test.ts'],
  'add-key-use-1.lua': [direct],
  'add-usage-2.lua': [record, model, 'gateway/windows.test.ts'],
  'audited.lua': ['gateway/audited-changes.test.ts'],
  'change-record.lua': [direct, model, 'gateway/audited-changes.test.ts'],
  'clock.lua': ['gateway/windows.test.ts', record, model],
  'consume.lua': [model, direct, 'gateway/quota-script.test.ts', record, 'gateway/windows.test.ts'],
  'fields.lua': ['gateway/audited-changes.test.ts', direct],
  'give-back-4.lua': [giveBack],
  'lift-ban-2.lua': ['gateway/audited-changes.test.ts'],
  'read-usage-4.lua': ['gateway/usage.test.ts', model],
  'remove-customer.lua': ['gateway/customers.test.ts'],
  'reset-day-1.lua': [record, 'gateway/windows.test.ts'],
  'set-ban-1.lua': [model],
  'set-fields-1.lua': [direct],
  'usage.lua': [record, model],
  'windows.lua': ['gateway/windows.test.ts', model],
};

/**
 * Besides the unit tests of all three folders. Left out is what only a running gateway can test: its tests take too long, and
 * fail on a busy machine.
 */
const sources: Readonly<Record<string, readonly string[]>> = {
  'quota/bans.ts': [],
  'quota/policies.ts': [],
  'quota/local-quota.ts': [],
  'quota/quota-decision.ts': [model],
  'quota/rate-limit-headers.ts': [],
  'quota/redis-quota.ts': [giveBack, model],
  'quota/address-limit.ts': [],
  'quota/usage-reports.ts': [],
  'quota/usage.ts': [record, model],
  'limits/limits.ts': [],
  'limits/windows.ts': [record],
  'keys/api-key-cache.ts': [],
  'keys/api-key-format.ts': ['unit/gateway/platform/config/key-prefix.test.ts'],
  'keys/records.ts': [],
};

export const targets: readonly Target[] = [
  ...Object.entries(scripts).map(([file, tests]) => ({
    source: `gateway/platform/redis/scripts/${file}`,
    tests,
  })),
  ...Object.entries(sources).map(([file, tests]) => ({
    source: `gateway/${file}`,
    tests: [...units, ...tests],
  })),
];
