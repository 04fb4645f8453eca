import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Setting } from '../redis/define-setting.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { readSettings } from './settings-hash.ts';

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
export async function readSettingState<T extends object>(
  session: Pick<Session, 'redis' | 'now'>,
  setting: Setting<T>,
): Promise<SettingState<T>> {
  const [values, { stored, issues }] = await Promise.all([
    readEnforcedValues(session),
    readStoredSetting(session.redis, setting),
  ]);
  const inForce = values.counted(setting.key).flatMap(({ fields, gateways }) => {
    const parsed = setting.fields.safeParse(fields);
    return parsed.success ? [{ value: parsed.data, gateways }] : [];
  });
  const isStored = ({ value }: { value: T }) => isDeepStrictEqual(value, stored);
  return {
    stored,
    issues,
    gateways: inForce.find(isStored)?.gateways ?? 0,
    enforced: inForce.filter((other) => !isStored(other)),
    defaults: setting.defaults,
  };
}

async function readStoredSetting<T extends object>(
  redis: Session['redis'],
  { key, fields: schema }: Setting<T>,
): Promise<{ stored: T | null; issues: string[] }> {
  try {
    const fields = await readSettings(redis, key);
    if (Object.keys(fields).length === 0) return { stored: null, issues: [`${key} is missing`] };
    const parsed = schema.safeParse(fields);
    if (parsed.success) return { stored: parsed.data, issues: [] };
    return { stored: null, issues: parsed.error.issues.map((issue) => describeIssue(issue, fields)) };
  } catch (error) {
    if (error instanceof InvalidOperation) return { stored: null, issues: [error.message] };
    throw error;
  }
}

/** Which field is wrong, how, and what it is. */
function describeIssue({ path, message }: z.core.$ZodIssue, fields: Record<string, string>): string {
  const field = path.join('.');
  const text = fields[field];
  return text === undefined ? `${field} ${message}` : `${field} ${message}: it is ${JSON.stringify(text)}`;
}
