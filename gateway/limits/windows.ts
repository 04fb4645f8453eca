import { dayMs } from './utc-day.ts';

/**
 * The windows in which requests of a key are counted. All that depends on windows follows from this list: fields of plans
 * and keys, options, headers, metrics, the scripts. A window lasts for a time that its first request opens, or it is a UTC
 * day or month. A plan has a limit for each required window, and may have one for the others.
 */
export const windows = [
  { name: 'minute', lengthMs: 60_000, required: true, each: 'a minute', current: 'this minute' },
  { name: 'hour', lengthMs: 3_600_000, required: false, each: 'an hour', current: 'this hour' },
  { name: 'day', calendar: 'day', required: true, each: 'a day', current: 'today' },
  { name: 'month', calendar: 'month', required: false, each: 'a month', current: 'this month' },
] as const satisfies readonly WindowDefinition[];

interface WindowDefinition {
  /** Name in fields, options, headers and metrics. */
  name: string;
  /** Time from the first request to the end; undefined for a calendar window. */
  lengthMs?: number;
  calendar?: 'day' | 'month';
  required: boolean;
  /** As in "60 requests a minute". */
  each: string;
  /** As in "60 of 60 used this minute". */
  current: string;
}

type Window = WindowDefinition & { name: (typeof windows)[number]['name'] };
export type WindowName = Window['name'];
export type RequiredWindow = Extract<(typeof windows)[number], { required: true }>['name'];

export const windowNames: readonly WindowName[] = windows.map(({ name }) => name);
export const requiredWindows: readonly RequiredWindow[] = windows.flatMap((window) =>
  window.required ? [window.name] : [],
);

/** A value for some of the windows. */
export type ByWindow<Value> = { [Name in WindowName]?: Value | undefined };
/** A value for each required window, and for some of the others. */
export type ByRequiredWindow<Value> = Record<RequiredWindow, Value> & Partial<Record<WindowName, Value>>;

const byName = Object.fromEntries(windows.map((window) => [window.name, window])) as Record<
  WindowName,
  Window
>;

export function windowOf(name: WindowName): Window {
  return byName[name];
}

export function isWindowName(text: string): text is WindowName {
  return Object.hasOwn(byName, text);
}

/** Name of a field about a window, such as `trialMinute`. */
export function fieldOf<Prefix extends string, Name extends WindowName>(
  prefix: Prefix,
  name: Name,
): `${Prefix}${Capitalize<Name>}` {
  return `${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}` as `${Prefix}${Capitalize<Name>}`;
}

/** Builds a value for each window of which `valueOf` has one, in the order of the list. */
export function byWindow<Value>(
  valueOf: (name: WindowName) => Value | undefined,
): Partial<Record<WindowName, Value>> {
  const values: Partial<Record<WindowName, Value>> = {};
  for (const { name } of windows) {
    const value = valueOf(name);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** Converts the value of each window that has one, in the order of the list. */
export function mapWindows<From, To>(
  values: ByRequiredWindow<From>,
  convert: (value: From, name: WindowName) => To,
): ByRequiredWindow<To> {
  const converted: ByWindow<To> = {};
  for (const { name } of windows) {
    const value = values[name];
    if (value !== undefined) converted[name] = convert(value, name);
  }
  return converted as ByRequiredWindow<To>;
}

/** The same value for each required window. */
export function forRequired<Value>(value: Value): ByRequiredWindow<Value> {
  return Object.fromEntries(requiredWindows.map((name) => [name, value])) as Record<RequiredWindow, Value>;
}

/** Length of the window that contains a time, in milliseconds. */
export function windowLengthMs(name: WindowName, nowMs: number): number {
  const window = byName[name];
  if (window.lengthMs !== undefined) return window.lengthMs;
  return window.calendar === 'day' ? dayMs : endOfMonth(nowMs) - startOfMonth(nowMs);
}

/**
 * Milliseconds from a time to the end of the window that contains it, if windows of a fixed length begin at multiples of
 * it, as they do without Redis.
 */
export function alignedLeftMs(name: WindowName, nowMs: number): number {
  const window = byName[name];
  if (window.calendar === 'month') return endOfMonth(nowMs) - nowMs;
  const lengthMs = windowLengthMs(name, nowMs);
  return lengthMs - (nowMs % lengthMs);
}

function startOfMonth(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}

function endOfMonth(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
}
