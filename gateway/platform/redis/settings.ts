import { describeIssues } from '#runtime/error-message.ts';
import { z } from 'zod';
import type { NumberField } from '../../limits/setting-fields.ts';
import type { InvalidValues, ValueSource } from '../observability/invalid-values.ts';
import type { EnforcedSettings, ProcessSettings } from './process-statuses.ts';
import type { RedisClient } from './redis-client.ts';
import { UnexpectedValue } from './redis-errors.ts';
import { readHash } from './redis-values.ts';

/** Fields of a hash of settings, as text. */
export type Fields = Record<string, string>;

/** What is valid in the fields of a setting, undefined for a field that was removed, and what is wrong with the others. */
export interface Reading<Value> {
  found: Partial<Value>;
  issues: string[];
  /** Fields of which a valid value must have been read once; none if the setting is gone. */
  required: readonly string[];
}

/**
 * A setting of all gateways: a hash in Redis whose values operators change at any time. All that handles settings follows from
 * its definition: the live value of a gateway, the audit log, the file of plans, options of the command, the operators' API.
 */
export interface Setting<
  Value extends object = object,
  Name extends string = string,
  Values extends z.ZodObject = z.ZodObject,
> {
  /** In a file of plans, such as banPolicy or plans.pro. */
  name: Name;
  /** Redis key of the hash. */
  key: string;
  /** The plan, if API keys may be on it. */
  plan?: string;
  /** In the audit log: that it was changed, that its default was written, and what. */
  action: string;
  seedAction: string;
  target: string;
  defaults: Readonly<Value>;
  /** Parses its values as they are in a file. Each field has a description, for editors and for `--help`. */
  values: Values;
  /** Parses the fields of the hash, which are text. Ignores others than those of the setting. */
  fields: z.ZodType<Value>;
  /** Parses the fields of the hash as far as they are valid. */
  read(fields: Fields): Reading<Value>;
}

/** A setting of which all fields are valid, or none. */
interface WholeSetting<Name extends string, Values extends z.ZodObject> extends Setting<
  z.output<Values>,
  Name,
  Values
> {
  /** What it is, in words. */
  title: string;
  /** What to do if it is not set, and gateways keep the last one. */
  advice: string;
}

/** Defines such a setting. A message of its schema continues the name of its field. */
export function defineSetting<const Name extends string, Values extends z.ZodObject>({
  values,
  ...setting
}: Omit<WholeSetting<Name, Values>, 'fields' | 'read'>): WholeSetting<Name, Values> {
  const fields = fieldsSchema(values);
  const required = Object.keys(values.shape);
  return {
    ...setting,
    values,
    fields,
    read(texts) {
      const parsed = fields.safeParse(texts);
      return parsed.success
        ? { found: parsed.data, issues: [], required }
        : { found: {}, issues: describeIssues(parsed.error), required };
    },
  };
}

/** Parses the fields of a hash, which are text, as the given values. Ignores others than theirs. */
export function fieldsSchema<Values extends z.ZodObject>(values: Values) {
  return z.preprocess((texts) => valuesIn(texts, values.shape), values);
}

function valuesIn(texts: unknown, shape: Readonly<Record<string, z.core.$ZodType>>): unknown {
  if (typeof texts !== 'object' || texts === null) return texts;
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => {
      const schema = shape[name];
      return schema === undefined ? [] : [[name, valueOf(String(text), schema)] as const];
    }),
  );
}

/** The value of a field from its text. A text that is no such value stays a text, which the schema of the field refuses. */
function valueOf(text: string, schema: z.core.$ZodType): string | number | boolean {
  if (schema instanceof z.ZodOptional) return valueOf(text, schema.unwrap());
  if (schema instanceof z.ZodBoolean) return text === 'true' || text === 'false' ? text === 'true' : text;
  const isInteger = schema instanceof z.ZodNumber && schema.isInt;
  return (isInteger ? wholeNumberText : decimalText).test(text) ? Number(text) : text;
}

const wholeNumberText = /^(0|[1-9]\d{0,9})$/;
const decimalText = /^\d{1,4}(\.\d{1,3})?$/;

const missingOr =
  (problem: string) =>
  ({ input }: { input?: unknown }) =>
    input === undefined ? 'is missing' : problem;

/** A number of a setting: whole, or with up to three decimals. */
export function numberValue({ min, max, decimals, meaning }: NumberBounds): z.ZodNumber {
  const kind = decimals ? 'number' : 'whole number';
  const error = missingOr(
    `is not a ${kind} from ${min} to ${max}${decimals ? ' with up to three decimals' : ''}`,
  );
  const number = decimals
    ? z.number({ error }).refine((value) => /^\d+(\.\d{1,3})?$/.test(String(value)), { error })
    : z.int({ error });
  return number.min(min, { error }).max(max, { error }).meta({ description: meaning });
}

type NumberBounds = Pick<NumberField, 'min' | 'max' | 'decimals' | 'meaning'>;

export function trueOrFalse(description: string) {
  return z.boolean({ error: missingOr('is neither true nor false') }).meta({ description });
}

/** Options of an object of fields. */
export const mapping = (shape: string) => ({
  error: (issue: { code?: string; input?: unknown }) =>
    issue.code === 'unrecognized_keys' ? undefined : missingOr(`is not a mapping of ${shape}`)(issue),
});

export type LiveSetting<Value extends object> = ReturnType<typeof createLiveSetting<Value>>;

export interface LiveSettingDependencies {
  redis: RedisClient;
  invalidValues: InvalidValues;
  /** What other gateways enforce. Never rejects. */
  readOthers: () => Promise<readonly ProcessSettings[]>;
}

interface LiveSettingOptions<Value extends object> extends LiveSettingDependencies {
  setting: Setting<Value>;
  /** Called with the value in force at the start and at each change. */
  onChange?: ((value: Value) => void) | undefined;
  /** Whether what is wrong is reported. Always by default. */
  isInUse?: () => boolean;
}

/** A hash of settings in Redis as this process enforces it. */
export function createLiveSetting<Value extends object>(options: LiveSettingOptions<Value>) {
  const { redis, invalidValues, readOthers, setting, onChange, isInUse = () => true } = options;
  const { key, defaults } = setting;
  const hasDefault = Object.keys(defaults).length > 0;
  /** Last valid values, from Redis or from another gateway. */
  let known: Partial<Value> = {};
  let current: Value = defaults;
  let wasRead = false;
  let isComplete = false;
  onChange?.(current);

  function use({ found, required }: Reading<Value>): void {
    const next = withoutUndefined({ ...known, ...found });
    isComplete ||= required.length > 0 && required.every((field) => Object.hasOwn(next, field));
    // Without a default for the rest, some limits of a plan would be in force without the others.
    if (!isComplete && !hasDefault) return;
    known = next;
    current = { ...defaults, ...known };
    onChange?.(current);
  }

  function report(issues: string[]): void {
    if (!isInUse()) return invalidValues.forget(key);
    const source: ValueSource = isComplete ? 'last_valid' : hasDefault ? 'default' : 'none';
    invalidValues.report(key, issues, { enforced: current, source });
  }

  async function takeOver(): Promise<void> {
    for (const { known: others } of await readOthers()) {
      if (isComplete) return;
      const reading = setting.read(others[key] ?? {});
      use({ ...reading, found: { ...reading.found, ...known } });
    }
  }

  /**
   * Reads the setting again. Never rejects: an unreadable or invalid value leaves the last valid one, or that of another
   * gateway.
   */
  async function refresh(): Promise<void> {
    if (!isComplete) await takeOver();
    let fields: Fields;
    try {
      fields = await readHash(redis, key);
    } catch (error) {
      if (error instanceof UnexpectedValue) report(['is not a hash']);
      return;
    }
    const reading = setting.read(fields);
    use(reading);
    wasRead = true;
    report(reading.issues);
  }

  return {
    /** The last valid values, and defaults in place of unknown ones. */
    current: () => current,
    refresh,
    /** Reads the setting unless it was read before. */
    async ensureRead(): Promise<void> {
      if (!wasRead) await refresh();
    },
    /** Whether its values were never complete, in Redis or at another gateway. */
    lacksValues: () => !isComplete,
    /** The values in force by its Redis key. */
    enforced(): EnforcedSettings {
      const own = textFields(known);
      const rest = Object.entries(textFields(current)).filter(([field]) => !Object.hasOwn(own, field));
      return {
        known: Object.keys(own).length === 0 ? {} : { [key]: own },
        defaults: rest.length === 0 ? {} : { [key]: Object.fromEntries(rest) },
      };
    },
  };
}

function withoutUndefined<T extends object>(value: T): T {
  const rest = { ...value };
  for (const [field, found] of Object.entries(rest))
    if (found === undefined) Reflect.deleteProperty(rest, field);
  return rest;
}

/** Formats values as a hash in Redis has them. */
export function textFields(values: object): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([field, value]) => [field, String(value)]));
}
