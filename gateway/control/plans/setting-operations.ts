import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  anonymousField,
  describeValues,
  retentionField,
  type NumberField,
} from '../../limits/setting-fields.ts';
import type { WholeSetting } from '../../platform/redis/define-setting.ts';
import { banPolicyBounds, banPolicySetting, type BanPolicy } from '../../quota/ban-policy.ts';
import { anonymousSetting } from '../../quota/plan-settings.ts';
import { usageSetting } from '../../quota/usage-policy.ts';
import { unchangedFields } from '../audit/audit-log.ts';
import { ignoreInvalid, InvalidOperation } from '../invalid-operation.ts';
import { change, read, type Operation } from '../operation.ts';
import { expectUnchanged } from '../overtaken-change.ts';
import type { Session } from '../session.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { readSettingState, resetSetting, setSetting, settingStateSchema, showSetting } from './settings.ts';

const boundsSchema = z.object({ min: z.number(), max: z.number() }).meta({ id: 'Bounds' });
const policySchema = banPolicySetting.values.meta({ id: 'BanPolicy' });
const changedPolicySchema = z.object({ policy: policySchema });
const seenPolicy = z.object({
  expected: policySchema.nullable().describe('The policy as it was read; null if it was missing or invalid'),
});

function expectPolicy(seen: z.infer<typeof seenPolicy> | undefined) {
  return (stored: BanPolicy | null) =>
    expectUnchanged(
      seen === undefined || isDeepStrictEqual(stored, seen.expected),
      describeValues(stored ?? {}) || 'missing or invalid',
    );
}

interface NumberSetting<Values extends Record<string, number>> {
  setting: WholeSetting<Values> & { values: z.ZodType<Values> & z.ZodObject };
  field: NumberField & { unit: string };
  schemaId: string;
  path: string;
  operationIds: { read: string; set: string };
  /** Of the route that shows it, and of the one that changes it. */
  summaries: { read: string; set: string };
}

/** Operations on a setting that is one number. */
function numberSetting<Values extends Record<string, number>>({
  setting,
  field,
  schemaId,
  path,
  operationIds,
  summaries,
}: NumberSetting<Values>): Operation[] {
  const { values } = setting;
  const names = Object.keys(values.shape);
  const each = <Value>(valueOf: (name: string) => Value) =>
    Object.fromEntries(names.map((name) => [name, valueOf(name)]));
  const nullable = Object.fromEntries(
    Object.entries(values.shape).map(([name, schema]) => [name, z.nullable(schema)]),
  );
  return [
    read({
      operationId: operationIds.read,
      http: `GET /settings/${path}`,
      summary: summaries.read,
      responds: 'The setting',
      result: settingStateSchema<z.ZodType<Values>>(values.meta({ id: schemaId })).extend({
        bounds: boundsSchema,
      }),
      run: async (session) => ({
        ...(await readSettingState(session, setting)),
        bounds: boundsSchema.parse(field),
      }),
    }),
    change({
      operationId: operationIds.set,
      http: `PUT /settings/${path}`,
      summary: summaries.set,
      input: values,
      example: { ...each(() => field.default * 2), expected: each(() => field.default) },
      seen: z.object({
        expected: z.strictObject(nullable).describe('As it was read; null if it was invalid'),
      }),
      responds: 'It was changed',
      result: z.object({ ...values.shape, before: z.int().nullable() }),
      async run(session, { input, seen }) {
        let before: number | null = null;
        await setSetting(session, setting, input, (stored) => {
          before = stored === null ? null : (Object.values(stored)[0] ?? null);
          expectUnchanged(
            seen === undefined ||
              isDeepStrictEqual(
                seen.expected,
                each((name) => stored?.[name] ?? null),
              ),
            `${before ?? 'invalid or missing'} ${field.unit}`,
          );
        });
        return { ...input, before };
      },
    }),
  ];
}

/** Settings of the whole fleet. A change is in force on all gateways within a second. */
export const settingOperations = [
  read({
    operationId: 'getBanPolicy',
    http: 'GET /settings/ban-policy',
    summary: 'When and for how long keys are banned',
    responds: 'The policy, its defaults, and the bounds of each number',
    result: settingStateSchema(policySchema).extend({ bounds: z.record(z.string(), boundsSchema) }),
    run: async (session) => ({
      ...(await readSettingState(session, banPolicySetting)),
      bounds: banPolicyBounds,
    }),
  }),
  change({
    operationId: 'setBanPolicy',
    http: 'PUT /settings/ban-policy',
    summary: 'Replace the policy; in force on all gateways within a second',
    input: z.strictObject({ policy: policySchema }),
    seen: seenPolicy,
    responds: 'The policy that is in force within a second',
    result: changedPolicySchema,
    run: async (session, { input: { policy }, seen }) => ({
      policy: (await setSetting(session, banPolicySetting, policy, expectPolicy(seen))).after,
    }),
  }),
  change({
    operationId: 'resetBanPolicy',
    http: 'POST /settings/ban-policy/reset',
    summary: 'Set the default policy, whatever is stored',
    seen: seenPolicy,
    responds: 'The policy that is in force within a second',
    result: changedPolicySchema,
    run: async (session, { seen }) => ({
      policy: (await resetSetting(session, banPolicySetting, 'policy.reset', expectPolicy(seen))).after,
    }),
  }),
  ...numberSetting({
    setting: anonymousSetting,
    field: anonymousField,
    schemaId: 'AnonymousLimit',
    path: 'anonymous',
    operationIds: { read: 'getAnonymousLimit', set: 'setAnonymousLimit' },
    summaries: {
      read: 'Limit of an address for requests without a valid key',
      set: 'Change it; in force on all gateways within a second',
    },
  }),
  ...numberSetting({
    setting: usageSetting,
    field: retentionField,
    schemaId: 'UsageRetention',
    path: 'usage',
    operationIds: { read: 'getUsageRetention', set: 'setUsageRetention' },
    summaries: { read: 'How long the use of keys is kept', set: 'Change it, for use from then on' },
  }),
  // Of the command, which shows and changes parts of both.
  read({
    operationId: 'showPolicy',
    command: {
      usage: 'policy show',
      says: 'the ban policy, and for how many days use is kept',
      examples: ['policy show'],
      prints: ({ enforced, ...values }) =>
        unchangedFields({
          ...values,
          ...(enforced && { 'enforced by gateways': enforced.map(describeValues).join(' or ') }),
        }),
    },
    summary: 'The ban policy, and for how many days use is kept',
    responds: 'The values',
    result: z.object({
      ...z.object(policySchema.shape).exactPartial().shape,
      retentionDays: z.int().optional(),
      enforced: z.array(policySchema).optional(),
    }),
    async run(session, { context }) {
      const { policy, problem, enforced } = await readPolicy(session);
      if (problem !== undefined) context.warn(problem);
      const retention = await ignoreInvalid(showSetting(session, usageSetting));
      if (retention === undefined) context.warn(`no valid ${usageSetting.title}; ${usageSetting.advice}`);
      return { ...policy, ...retention, ...(enforced.length > 0 && { enforced }) };
    },
  }),
  change({
    operationId: 'setPolicy',
    command: {
      usage: 'policy set',
      says: 'change the ban policy, or how long use is kept; in force on all gateways within a second',
      examples: ['policy set --strikes 120 --ban-seconds 30', 'policy set --retention-days 90'],
      prints: unchangedFields,
    },
    summary: 'Change some of the values',
    input: z
      .strictObject({ ...banPolicySetting.values.shape, ...usageSetting.values.shape })
      .exactPartial()
      .refine((values) => Object.keys(values).length > 0, 'there is nothing to set: see --help'),
    responds: 'The values',
    result: z.looseObject({}),
    run: async (session, { input: { retentionDays, ...policy } }) => ({
      ...(Object.keys(policy).length > 0 && (await setSetting(session, banPolicySetting, policy)).after),
      ...(retentionDays !== undefined && (await setSetting(session, usageSetting, { retentionDays })).after),
    }),
  }),
];

interface ShownPolicy {
  /** Undefined if none is set, or it is invalid. */
  policy?: BanPolicy;
  problem?: string;
  /** What running gateways enforce, if that is not what is set: each different policy once. */
  enforced: BanPolicy[];
}

/** @throws InvalidOperation if none is set or it is invalid, and no gateway runs */
async function readPolicy(session: Session): Promise<ShownPolicy> {
  const values = (await readEnforcedValues(session)).of(banPolicySetting.key);
  const enforced = values.flatMap((fields) => banPolicySetting.fields.safeParse(fields).data ?? []);
  try {
    const policy = await showSetting(session, banPolicySetting);
    return { policy, enforced: enforced.every((other) => isDeepStrictEqual(other, policy)) ? [] : enforced };
  } catch (error) {
    if (!(error instanceof InvalidOperation) || enforced.length === 0) throw error;
    return { problem: error.message, enforced };
  }
}
