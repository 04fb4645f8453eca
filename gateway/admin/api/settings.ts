import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { anonymousField, describeValues, retentionField } from '../../limits/setting-fields.ts';
import { setPlan } from '../../operations/plans.ts';
import { readSettingState, resetSetting, setSetting, settingStateSchema } from '../../operations/settings.ts';
import { anonymousPlan, anonymousSetting } from '../../plans/plan-settings.ts';
import { banPolicyBounds, banPolicySetting, type BanPolicy } from '../../quota/ban-policy.ts';
import { usageSetting } from '../../quota/usage-policy.ts';
import { changed, expectUnchanged } from './results.ts';
import { route } from './route.ts';

const boundsSchema = z.object({ min: z.number(), max: z.number() }).meta({ id: 'Bounds' });
const policySchema = banPolicySetting.values.meta({ id: 'BanPolicy' });
const anonymousSchema = anonymousSetting.values.meta({ id: 'AnonymousLimit' });
const usageSchema = usageSetting.values.meta({ id: 'UsageRetention' });
const changedPolicy = {
  responds: 'The policy that is in force within a second',
  result: changed(z.object({ policy: policySchema })),
};
const expectedPolicy = policySchema
  .nullable()
  .describe('The policy as it was read; null if it was missing or invalid');

const { minute } = anonymousSetting.values.shape;
const { retentionDays } = usageSetting.values.shape;
/** Of a setting that is one number, what the person has seen. */
const seen = 'As it was read; null if it was invalid';

/** Settings of the whole fleet. A change is in force on all gateways within a second. */
export const settingsRoutes = [
  route.get('/settings/ban-policy', {
    operationId: 'getBanPolicy',
    summary: 'When and for how long keys are banned',
    responds: 'The policy, its defaults, and the bounds of each number',
    result: settingStateSchema(policySchema).extend({ bounds: z.record(z.string(), boundsSchema) }),
    handle: async (_call, { read }) => ({
      ...(await read((session) => readSettingState(session, banPolicySetting))),
      bounds: banPolicyBounds,
    }),
  }),
  route.put('/settings/ban-policy', {
    operationId: 'setBanPolicy',
    summary: 'Replace the policy; in force on all gateways within a second',
    input: z.strictObject({ expected: expectedPolicy, policy: policySchema }),
    ...changedPolicy,
    handle: async ({ req, input: { policy, expected } }, { change }) => {
      const { result, warnings } = await change(req, (session) =>
        setSetting(session, banPolicySetting, policy, expectPolicy(expected)),
      );
      return { policy: result.after, warnings };
    },
  }),
  route.post('/settings/ban-policy/reset', {
    operationId: 'resetBanPolicy',
    summary: 'Set the default policy, whatever is stored',
    input: z.strictObject({ expected: expectedPolicy }),
    ...changedPolicy,
    handle: async ({ req, input: { expected } }, { change }) => {
      const { result, warnings } = await change(req, (session) =>
        resetSetting(session, banPolicySetting, 'policy.reset', expectPolicy(expected)),
      );
      return { policy: result.after, warnings };
    },
  }),
  route.get('/settings/anonymous', {
    operationId: 'getAnonymousLimit',
    summary: 'Limit of an address for requests without a valid key',
    responds: 'The setting',
    result: settingStateSchema(anonymousSchema).extend({ bounds: boundsSchema }),
    handle: async (_call, { read }) => ({
      ...(await read((session) => readSettingState(session, anonymousSetting))),
      bounds: boundsSchema.parse(anonymousField),
    }),
  }),
  route.put('/settings/anonymous', {
    operationId: 'setAnonymousLimit',
    summary: 'Change it; in force on all gateways within a second',
    input: z.strictObject({
      minute,
      expected: z.strictObject({ minute: minute.nullable() }).describe(seen),
    }),
    example: { minute: 120, expected: { minute: 60 } },
    responds: 'It was changed',
    result: changed(z.object({ minute, before: z.int().nullable() })),
    handle: async ({ req, input: { minute, expected } }, { change }) => {
      const { result, warnings } = await change(req, (session) =>
        setPlan(session, anonymousPlan, { minute }, false, async ({ before }) =>
          expectUnchanged(
            before.minute === expected.minute,
            `${before.minute ?? 'invalid'} ${anonymousField.unit}`,
          ),
        ),
      );
      return { minute, before: result.before.minute ?? null, warnings };
    },
  }),
  route.get('/settings/usage', {
    operationId: 'getUsageRetention',
    summary: 'How long the use of keys is kept',
    responds: 'The setting',
    result: settingStateSchema(usageSchema).extend({ bounds: boundsSchema }),
    handle: async (_call, { read }) => ({
      ...(await read((session) => readSettingState(session, usageSetting))),
      bounds: boundsSchema.parse(retentionField),
    }),
  }),
  route.put('/settings/usage', {
    operationId: 'setUsageRetention',
    summary: 'Change it, for use from then on',
    input: z.strictObject({
      retentionDays,
      expected: z.strictObject({ retentionDays: retentionDays.nullable() }).describe(seen),
    }),
    example: { retentionDays: 730, expected: { retentionDays: 400 } },
    responds: 'It was changed',
    result: changed(z.object({ retentionDays, before: z.int().nullable() })),
    handle: async ({ req, input: { retentionDays, expected } }, { change }) => {
      let before: number | null = null;
      const { warnings } = await change(req, (session) =>
        setSetting(session, usageSetting, { retentionDays }, (stored) => {
          before = stored?.retentionDays ?? null;
          expectUnchanged(
            before === expected.retentionDays,
            `${before ?? 'invalid or missing'} ${retentionField.unit}`,
          );
        }),
      );
      return { retentionDays, before, warnings };
    },
  }),
];

function expectPolicy(expected: BanPolicy | null): (stored: BanPolicy | null) => void {
  return (stored) => {
    expectUnchanged(
      isDeepStrictEqual(stored, expected),
      describeValues(stored ?? {}) || 'missing or invalid',
    );
  };
}
