import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { AuditAction } from '../../platform/redis/audit-actions.ts';
import type { Fields, Setting, WholeSetting } from '../../platform/redis/define-setting.ts';
import { textFields } from '../../platform/redis/enforced-settings.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { usageSetting } from '../../quota/usage-policy.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import type { ReadingSession, Session } from '../session.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { changeSettings, parseSetting } from './settings-hash.ts';

/** @throws InvalidOperation if the setting is not set, or invalid */
export async function showSetting<Value extends object>(
  { redis }: Pick<Session, 'redis'>,
  setting: WholeSetting<Value>,
): Promise<Value> {
  const fields = await redis.hgetall(setting.key);
  if (Object.keys(fields).length === 0) {
    throw new InvalidOperation(
      `no ${setting.title} is set: running gateways keep the one that they enforce; ${setting.advice}`,
    );
  }
  return parseSetting(setting, fields, `the ${setting.title} is invalid`);
}

/** Called before a change with what is stored, null if it is missing or invalid; refuses the change by throwing. */
type ApproveChange<Value> = (stored: Value | null) => void;

/** A setting before and after a change; before, its fields as they are in Redis if it was invalid. */
interface ChangedSetting<Value> {
  before: Value | Fields;
  after: Value;
}

/**
 * Changes some fields of a setting. In force on all gateways within a second.
 * @throws InvalidOperation if the setting as a whole would be invalid; nothing is changed
 */
export function setSetting<Value extends object>(
  session: Pick<Session, 'redis' | 'audit'>,
  setting: WholeSetting<Value>,
  change: Partial<Value>,
  approve?: ApproveChange<Value>,
): Promise<ChangedSetting<Value>> {
  const { key, title, action, target } = setting;
  const texts = textFields(change);
  return changeSettings(session, key, async (fields) => {
    const after = parseSetting(setting, { ...fields, ...texts }, `the ${title} would be invalid`);
    const before = beforeChange(setting, fields, approve);
    return { before, after, fields: texts, entry: { action, target, before, after } };
  });
}

/** Sets the defaults, whatever is stored. If they are stored, nothing is changed. */
export function resetSetting<Value extends object>(
  session: Pick<Session, 'redis' | 'audit'>,
  setting: WholeSetting<Value>,
  action: AuditAction,
  approve?: ApproveChange<Value>,
): Promise<ChangedSetting<Value>> {
  const { key, target, defaults: after } = setting;
  return changeSettings(session, key, async (fields) => {
    const before = beforeChange(setting, fields, approve);
    if (isDeepStrictEqual(before, after)) return { before, after, fields: {} };
    const removed = Object.fromEntries(Object.keys(fields).map((field) => [field, '']));
    const entry = { action, target, before, after };
    return { before, after, fields: { ...removed, ...textFields(after) }, entry };
  });
}

function beforeChange<Value extends object>(
  { fields: schema }: Setting<Value>,
  fields: Fields,
  approve: ApproveChange<Value> | undefined,
): Value | Fields {
  const stored = schema.safeParse(fields).data ?? null;
  approve?.(stored);
  return stored ?? fields;
}

/** @returns the retention, or the default if none is set or it is invalid */
export async function readRetentionDays(redis: RedisClient): Promise<number> {
  const fields = await redis.hgetall(usageSetting.key);
  return (usageSetting.fields.safeParse(fields).data ?? usageSetting.defaults).retentionDays;
}

/** A setting as it is stored, and as running gateways enforce it. */
export const settingStateSchema = <Value extends z.ZodType>(value: Value) =>
  z.object({
    stored: value.nullable().describe('Null if it is missing or invalid'),
    issues: z
      .array(z.string())
      .describe('What is wrong with what is stored. Then gateways keep their last valid value.'),
    gateways: z.int().describe('Gateway processes that enforce what is stored'),
    enforced: z
      .array(z.object({ value, gateways: z.int() }))
      .describe('What other gateways enforce: each different value once'),
    defaults: value,
  });

export type SettingState<T> = z.infer<ReturnType<typeof settingStateSchema<z.ZodType<T>>>>;

/** Reads a setting that may have been edited by hand into anything. */
export async function readSettingState<Value extends object>(
  session: ReadingSession,
  setting: Setting<Value>,
): Promise<SettingState<Value>> {
  const [values, { stored, issues }] = await Promise.all([
    readEnforcedValues(session),
    readStored(session.redis, setting),
  ]);
  const inForce = values.counted(setting.key).flatMap(({ fields, gateways }) => {
    const parsed = setting.fields.safeParse(fields);
    return parsed.success ? [{ value: parsed.data, gateways }] : [];
  });
  const isStored = ({ value }: { value: Value }) => isDeepStrictEqual(value, stored);
  return {
    stored,
    issues,
    gateways: inForce.find(isStored)?.gateways ?? 0,
    enforced: inForce.filter((other) => !isStored(other)),
    defaults: setting.defaults,
  };
}

async function readStored<Value extends object>(
  redis: RedisClient,
  { key, fields: schema }: Setting<Value>,
): Promise<{ stored: Value | null; issues: string[] }> {
  const fields = await redis.hgetall(key);
  if (Object.keys(fields).length === 0) return { stored: null, issues: [`${key} is missing`] };
  const parsed = schema.safeParse(fields);
  if (parsed.success) return { stored: parsed.data, issues: [] };
  return { stored: null, issues: parsed.error.issues.map((issue) => describeIssue(issue, fields)) };
}

/** Which field is wrong, how, and what it is. */
function describeIssue({ path, message }: z.core.$ZodIssue, fields: Fields): string {
  const field = path.join('.');
  const text = fields[field];
  return text === undefined ? `${field} ${message}` : `${field} ${message}: it is ${JSON.stringify(text)}`;
}
