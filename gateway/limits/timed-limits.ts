import { limitIssue, parseLimit, type SomeLimits } from './limits.ts';
import { byWindow, fieldOf, windowNames } from './windows.ts';

/** Fields of a hash, as read from Redis. */
export type FieldTexts = Readonly<Partial<Record<string, string | null>>>;

/** Limits that hold from or until a time, in fields of a hash: `temporaryMinute`, `temporaryDay` and so on, and `temporaryUntil`. */
export interface TimedLimitsFields<Prefix extends string, Time> {
  /** Begins the name of each field. */
  prefix: Prefix;
  /** Field of the time. */
  timeField: string;
  /** What the time is, in words. */
  timeIs: string;
  /** @returns undefined for a text that is not such a time */
  parseTime: (text: string) => Time | undefined;
  /** What follows from an invalid field, in words. */
  consequence: string;
}

export interface ParsedTimedLimits<Time> {
  /** Undefined without valid fields. */
  found: { limits: SomeLimits; time: Time } | undefined;
  /** What is wrong with the fields. They then have no effect, and nothing else is affected. */
  issues: string[];
}

const limitFieldsOf = (prefix: string) => windowNames.map((name) => fieldOf(prefix, name));

export function timedLimitsFields(definition: TimedLimitsFields<string, unknown>): readonly string[] {
  return [...limitFieldsOf(definition.prefix), definition.timeField];
}

/** Parses the fields. Never throws: the hash may have been edited by hand. */
export function parseTimedLimits<Time>(
  definition: TimedLimitsFields<string, Time>,
  texts: FieldTexts,
): ParsedTimedLimits<Time> {
  const { prefix, timeField, timeIs, parseTime, consequence } = definition;
  if (!timedLimitsFields(definition).some((field) => isPresent(texts[field])))
    return { found: undefined, issues: [] };
  const limitFields = limitFieldsOf(prefix);
  const limits = byWindow((name) => parseLimit(texts[fieldOf(prefix, name)]));
  const timeText = texts[timeField];
  const time = isPresent(timeText) ? parseTime(timeText) : undefined;
  const issues: string[] = [];
  if (!limitFields.some((field) => isPresent(texts[field]))) {
    issues.push(`${listed(limitFields)} are missing, ${consequence}`);
  }
  for (const name of windowNames) {
    const field = fieldOf(prefix, name);
    if (isPresent(texts[field]) && limits[name] === undefined)
      issues.push(`${field} ${limitIssue}, ${consequence}`);
  }
  if (time === undefined) {
    issues.push(`${timeField} is ${isPresent(timeText) ? `not ${timeIs}` : 'missing'}, ${consequence}`);
  }
  if (issues.length > 0 || time === undefined) return { found: undefined, issues };
  return { found: { limits, time }, issues };
}

/** Formats limits as fields of a hash. An empty value stands for a field that the hash must not have. */
export function formatTimedLimits<Time extends string | number>(
  { prefix, timeField }: Pick<TimedLimitsFields<string, Time>, 'prefix' | 'timeField'>,
  limits: SomeLimits | undefined,
  time: Time | undefined,
): Record<string, string> {
  return {
    ...Object.fromEntries(windowNames.map((name) => [fieldOf(prefix, name), String(limits?.[name] ?? '')])),
    [timeField]: String(time ?? ''),
  };
}

/** As in "one, two and three". */
function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

function isPresent(text: string | null | undefined): text is string {
  return typeof text === 'string';
}
