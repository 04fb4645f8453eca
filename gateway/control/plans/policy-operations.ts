import { isDeepStrictEqual } from 'node:util';
import { describeIssues } from '#runtime/error-message.ts';
import { z } from 'zod';
import { describeValues, policyFields, retentionField } from '../../limits/setting-fields.ts';
import { textFields, type Fields, type Setting } from '../../platform/redis/settings.ts';
import { wholeSettings } from '../../quota/default-settings.ts';
import { anonymousSetting } from '../../quota/plan-settings.ts';
import { banPolicySetting, usageSetting } from '../../quota/policies.ts';
import { unchangedFields } from '../audit/audit-log.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { change, read } from '../operation.ts';
import { expectUnchanged } from '../overtaken-change.ts';
import type { FormField } from '../question.ts';
import type { Session } from '../session.ts';
import {
  changeSettings,
  diffSettings,
  readEnforcedValues,
  readStored,
  type StoredSettings,
} from './settings.ts';

/** What holds for the whole fleet beside the limits of plans, each value under one name. */
const shape = {
  ...banPolicySetting.values.shape,
  anonymousMinute: anonymousSetting.values.shape.minute.meta({
    description: 'requests a minute of each address without a valid key',
  }),
  ...usageSetting.values.shape,
};
const allValues = z.object(shape).meta({ id: 'Policy' });
const someValues = allValues.exactPartial().meta({ id: 'SomePolicy' });
type SomeValues = z.infer<typeof someValues>;

const defaults: z.infer<typeof allValues> = {
  ...banPolicySetting.defaults,
  anonymousMinute: anonymousSetting.defaults.minute,
  ...usageSetting.defaults,
};

const forms = Object.fromEntries(
  Object.entries(policyFields).map(
    ([name, { label, meaning, default: usual, decimals }]): [string, FormField] => [
      name,
      { label, hint: `${meaning}; ${usual} by default`, ...(decimals && { step: '0.001' }) },
    ],
  ),
);

const policyStateSchema = z.object({
  stored: someValues.describe('Lacks those of a setting that is missing or invalid'),
  issues: z
    .array(z.string())
    .describe('What is wrong with what is stored. Then gateways keep their last valid values.'),
  gateways: z.int().describe('Gateways that enforce what is stored'),
  enforced: z
    .array(z.object({ value: someValues, gateways: z.int() }))
    .describe('What other gateways enforce: each different value once'),
  defaults: allValues,
});

export type PolicyState = z.infer<typeof policyStateSchema>;

const changedPolicySchema = z.object({ before: someValues, after: someValues });

/** Under which name a field of a setting is among the values. */
const nameOf = ({ name }: Pick<Setting, 'name'>, field: string) =>
  name === anonymousSetting.name ? 'anonymousMinute' : field;

/** The values of settings that are valid. */
function valuesOf(
  fieldsOf: (key: string) => Fields | undefined,
  settings: readonly Pick<Setting, 'name' | 'key' | 'fields'>[] = wholeSettings,
): SomeValues {
  const entries = settings.flatMap((setting) =>
    Object.entries(setting.fields.safeParse(fieldsOf(setting.key)).data ?? {}).map(
      ([field, value]: [string, unknown]) => [nameOf(setting, field), value] as const,
    ),
  );
  return someValues.parse(Object.fromEntries(entries));
}

/** Which fields of a setting are wrong, how, and what they are: they may have been edited by hand into anything. */
function issuesOf(setting: Setting, fields: Fields): string[] {
  if (Object.keys(fields).length === 0) return [`${setting.key} is missing`];
  return (setting.fields.safeParse(fields).error?.issues ?? []).map(({ path, message }) => {
    const [field = ''] = path.map(String);
    const text = fields[field];
    return `${nameOf(setting, field)} ${message}${text === undefined ? '' : `: it is ${JSON.stringify(text)}`}`;
  });
}

/** Decides on a change of what is stored. @throws InvalidOperation if a setting as a whole would be invalid */
function decide(values: SomeValues, stored: StoredSettings) {
  const given = new Map<string, unknown>(Object.entries(values));
  const wanted = wholeSettings.flatMap((setting) => {
    const names = Object.keys(setting.values.shape).filter((field) => given.has(nameOf(setting, field)));
    if (names.length === 0) return [];
    const texts = textFields(
      Object.fromEntries(names.map((field) => [field, given.get(nameOf(setting, field))])),
    );
    const { data, error } = setting.fields.safeParse({ ...stored.get(setting.key), ...texts });
    if (error !== undefined)
      throw new InvalidOperation(
        `the ${setting.title} would be invalid: ${describeIssues(error).join('; ')}`,
      );
    return [{ ...setting, wanted: textFields(data ?? {}) }];
  });
  const fieldsAfter = new Map(wanted.map((setting) => [setting.key, setting.wanted]));
  const before = valuesOf((key) => stored.get(key), wanted);
  const after = valuesOf((key) => fieldsAfter.get(key), wanted);
  return { changes: diffSettings(stored, wanted), shown: { before, after } };
}

/**
 * Changes some of the values. In force on all gateways within a second.
 * @param expected what the caller has seen; with other values stored of a setting that is changed, nothing is changed
 * @throws InvalidOperation if a setting as a whole would be invalid; nothing is changed
 */
export async function changePolicy(
  session: Pick<Session, 'redis' | 'audit'>,
  values: SomeValues,
  expected?: SomeValues,
) {
  const { shown } = await changeSettings(session, wholeSettings, (stored) => {
    const decided = decide(values, stored);
    const { before, after } = decided.shown;
    const seen = Object.entries(expected ?? before).filter(([name]) => Object.hasOwn(after, name));
    expectUnchanged(
      isDeepStrictEqual(Object.fromEntries(seen), { ...before }),
      describeValues(before) || 'missing or invalid',
    );
    return decided;
  });
  return shown;
}

/** When keys are banned, the limit of an address, and for how long use is kept. */
export const policyOperations = [
  read({
    operationId: 'showPolicy',
    http: 'GET /policy',
    command: {
      usage: 'policy show',
      says: 'the ban policy, the limit of an address, and for how many days use is kept',
      prints: ({ stored, enforced }) => [
        ...unchangedFields(stored),
        ...enforced.flatMap(({ value, gateways }) =>
          unchangedFields({ 'enforced by gateways': `${differences(value, stored)} (${gateways})` }),
        ),
      ],
    },
    summary: 'The ban policy, the limit of an address, and for how many days use is kept',
    responds: 'The values, their defaults, and what gateways enforce',
    result: policyStateSchema,
    async run(session, { context }) {
      const [enforced, stored] = await Promise.all([
        readEnforcedValues(session),
        readStored(session.redis, wholeSettings),
      ]);
      const issues: string[] = [];
      for (const setting of wholeSettings) {
        const found = issuesOf(setting, stored.get(setting.key) ?? {});
        issues.push(...found);
        if (found.length > 0)
          context.warn(`${found.join('; ')}: running gateways keep the last valid values; ${setting.advice}`);
      }
      const values = valuesOf((key) => stored.get(key));
      const inForce = enforced.counted(valuesOf);
      const isStored = ({ value }: { value: SomeValues }) => isDeepStrictEqual(value, values);
      return {
        stored: values,
        issues,
        gateways: inForce.find(isStored)?.gateways ?? 0,
        enforced: inForce.filter((other) => !isStored(other)),
        defaults,
      };
    },
  }),
  change({
    operationId: 'setPolicy',
    http: 'PATCH /policy',
    audits: {
      'policy.set': 'changed the ban policy:',
      'usage.retention': 'changed the retention of use:',
    },
    asks: {
      offer: 'Change…',
      heading: 'Policy',
      action: 'Save',
      fields: { enabled: { label: 'Ban keys that go on after 429' }, ...forms },
      whole: true,
      done: 'The policy is changed, in force within a second.',
    },
    command: {
      usage: 'policy set',
      says: 'change some of the policy; in force on all gateways within a second',
      examples: ['policy set --strikes 120 --ban-seconds 30', 'policy set --retention-days 90'],
      prints({ before, after }) {
        const known = new Map<string, unknown>(Object.entries(before));
        return Object.entries(after).map(([field, value]) => ({
          field,
          before: known.get(field),
          after: value,
        }));
      },
    },
    summary: 'Change some of the policy; in force on all gateways within a second',
    input: z
      .strictObject(shape)
      .exactPartial()
      .refine((values) => Object.keys(values).length > 0, 'there is nothing to set'),
    seen: z.object({
      expected: someValues.describe(
        'What was `stored` when it was read; with other values of a setting that is changed, the answer is 409',
      ),
    }),
    example: { retentionDays: 90, expected: { retentionDays: retentionField.default } },
    responds: 'The values of each setting that was changed, as they are in force within a second',
    result: changedPolicySchema,
    preview: async ({ redis }, { input }) => decide(input, await readStored(redis, wholeSettings)).shown,
    run: (session, { input, seen }) => changePolicy(session, input, seen?.expected),
  }),
];

/** Those of the values that are not stored, in words. */
function differences(values: SomeValues, stored: SomeValues): string {
  const known = new Map(Object.entries(stored));
  return describeValues(
    Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== known.get(name))),
  );
}
