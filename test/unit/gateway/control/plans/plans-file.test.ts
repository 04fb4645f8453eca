import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  maxFileBytes,
  parsePlansFile,
  type PlansFile,
} from '../../../../../gateway/control/plans/plans-file.ts';
import { banPolicyFields } from '../../../../../gateway/limits/setting-fields.ts';
import { textFields } from '../../../../../gateway/platform/redis/settings.ts';
import { banPolicySetting, defaultBanPolicy } from '../../../../../gateway/quota/policies.ts';

const parse = (text: string | Uint8Array) =>
  parsePlansFile(typeof text === 'string' ? Buffer.from(text) : text, 'plans.yaml');

const settings: PlansFile = {
  plans: {
    free: { minute: 60, day: 1000 },
    'gold-2': { minute: 2000, day: 500_000 },
    hourly: { hour: 50 },
    // YAML has other meanings for these names.
    true: { minute: 1, day: 2 },
    null: { minute: 3, day: 4 },
    constructor: { minute: 5, day: 6 },
  },
  anonymous: { minute: 20 },
  banPolicy: { ...defaultBanPolicy, enabled: false, strikesPerLimit: 1.125 },
  usage: { retentionDays: 365 },
};

test('a file is parsed as it was formatted, also with Windows line ends and a byte order mark', () => {
  const text = stringify(settings);
  expect(parse(text)).toEqual(settings);
  expect(parse(`\u{FEFF}${text.replaceAll('\n', '\r\n')}`)).toEqual(settings);
});

test('a file may have some of the sections, and JSON is YAML', () => {
  expect(parse('{"usage":{"retentionDays":30}}')).toEqual({ usage: { retentionDays: 30 } });
  expect(parse('plans: {}')).toEqual({ plans: {} });
});

describe('an invalid file is refused with line, column and field', () => {
  const limit = 'is not a whole number from 1 to 1000000000';

  test.each([
    ['plans:\n  pro:\n    minute: sixty\n    day: 1\n', `plans.yaml:3:5: plans.pro.minute ${limit}`],
    ['anonymous:\n  minute: 0\n', `plans.yaml:2:3: anonymous.minute ${limit}`],
    ['anonymous: {minute: 1.5}', `:1:13: anonymous.minute ${limit}`],
    ['plans:\n', ':1:1: plans is not a mapping of plan names to limits'],
    ['plans:\n  pro:\n    minute: 1\n', ':2:3: plans.pro.day is missing'],
    ['plans:\n  gold: {}\n', ':2:3: plans.gold has no limit'],
    ['plans:\n  pro:\n    minute: 1\n    dya: 1\n', ':4:5: plans.pro.dya is not known'],
    ['banPolicy:\n  strike: 1\n', ':2:3: banPolicy.strike is not known'],
    ['plans:\n  Gold!: {minute: 1, day: 1}', ':2:3: plans.Gold! is not a valid plan name: use up to 32'],
    ['plans:\n  enterprise: {minute: 1, day: 1}', ':2:3: plans.enterprise has no limits of its own'],
    [
      'plans:\n  anonymous: {minute: 1, day: 1}',
      ':2:3: plans.anonymous is not a plan: its limit is anonymous.minute',
    ],
    ['plans:\n  a: {minute: 1, day: 1}\n  a: {minute: 2, day: 2}', ':3:3: Map keys must be unique'],
    ['usage: {retentionDays: 1}\n---\nusage: {retentionDays: 2}', ':2:1: Source contains multiple documents'],
    ['', 'plans.yaml:1:1: the file is not a mapping of the sections plans, anonymous'],
    ['{}', ':1:1: the file has no settings: give at least one of plans, anonymous, banPolicy and usage'],
    ['usage: {retentionDays: 4001}', 'usage.retentionDays is not a whole number from 1 to 4000'],
  ])('%j', (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });

  test('all issues are named in the order of the lines', () => {
    expect(() => parse('colour: red\nplans:\n  a: {minute: 0, day: 1}\n  b: {minute: 0, day: 1}\n')).toThrow(
      /^plans\.yaml:1:1: colour [^;]+; plans\.yaml:3:7: plans\.a\.minute [^;]+; plans\.yaml:4:7: plans\.b\.minute [^;]+$/,
    );
  });
});

const aliases = Array.from(
  { length: 12 },
  (_, index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`,
);

test.each<[string, string | Uint8Array, RegExp]>([
  ['too large', `#${'x'.repeat(maxFileBytes)}`, /^plans\.yaml has more than 262144 bytes/],
  ['of nested lists', '['.repeat(20_000), /^plans\.yaml.+call stack/],
  [
    'in another encoding than UTF-8',
    Buffer.from('# für Händler\nplans: {a: {day: 1}}', 'latin1'),
    /^plans\.yaml can't be read \(.*utf-8\)/,
  ],
  [
    'an alias bomb',
    ['a0: &a0 [x]', ...aliases].join('\n'),
    /^plans\.yaml can't be read \(Excessive alias count/,
  ],
])('a hostile file is refused: %s', (_name, text, message) => {
  expect(() => parse(text)).toThrow(message);
});

test('the file and Redis accept the same ban policies', () => {
  for (const [field, { min, max }] of Object.entries(banPolicyFields)) {
    for (const value of [min - 1, min, max, max + 1, min + 0.5, min + 0.0001]) {
      const policy = { ...defaultBanPolicy, maxBanSeconds: 2_592_000, banSeconds: 1, [field]: value };
      const inFile = banPolicySetting.values.safeParse(policy).success;
      expect([field, value, inFile]).toEqual([
        field,
        value,
        banPolicySetting.fields.safeParse(textFields(policy)).success,
      ]);
    }
  }
  const tooShort = { ...defaultBanPolicy, maxBanSeconds: 59 };
  expect(banPolicySetting.values.safeParse(tooShort).error?.issues[0]?.message).toBe(
    'is less than banSeconds',
  );
});
