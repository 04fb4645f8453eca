interface WindowDefinition {
  /** Time from the first request to the end; undefined for a calendar window. */
  lengthMs?: number;
  calendar?: 'day' | 'month';
  /** Name at the end of a field, such as `refusedMinute`. */
  title: string;
  /** As in "60 requests a minute". */
  each: string;
  /** As in "60 of 60 used this minute". */
  current: string;
}

/**
 * The windows in which requests of a key are counted, shortest first. All that depends on windows follows from this list:
 * fields of plans and keys, options, headers, metrics, the scripts. A window lasts for a time that its first request opens, or
 * it is a UTC day or month.
 */
const definitions = {
  minute: { lengthMs: 60_000, title: 'Minute', each: 'a minute', current: 'this minute' },
  hour: { lengthMs: 3_600_000, title: 'Hour', each: 'an hour', current: 'this hour' },
  day: { calendar: 'day', title: 'Day', each: 'a day', current: 'today' },
  month: { calendar: 'month', title: 'Month', each: 'a month', current: 'this month' },
} as const satisfies Record<string, WindowDefinition>;

export type WindowName = keyof typeof definitions;

export function isWindowName(text: string): text is WindowName {
  return Object.hasOwn(definitions, text);
}

export const windowNames: readonly WindowName[] = Object.keys(definitions).filter(isWindowName);
const byName: Readonly<Record<WindowName, WindowDefinition>> = definitions;
export const windows = windowNames.map((name) => ({ name, ...byName[name] }));

export function windowOf(name: WindowName): WindowDefinition {
  return byName[name];
}

/** As `each`, in the words of a reference: "a UTC day". */
export function eachExactly(name: WindowName): string {
  const { each, calendar } = byName[name];
  return calendar === undefined ? each : `a UTC ${name}`;
}

/** A value for some of the windows. */
export type ByWindow<Value> = { [Name in WindowName]?: Value | undefined };

/** Such as "This minute" and "Today (UTC)". */
export function currentTitle(name: WindowName): string {
  const { current, calendar } = byName[name];
  return `${current.charAt(0).toUpperCase()}${current.slice(1)}${calendar === undefined ? '' : ' (UTC)'}`;
}

/** Name of a field about a window, such as `refusedMinute`. */
export function fieldOf<Prefix extends string>(prefix: Prefix, name: WindowName) {
  return `${prefix}${definitions[name].title}` as const;
}

/** Builds a value for each window of which `valueOf` has one, in the order of the list. */
export function byWindow<Value>(
  valueOf: (name: WindowName) => Value | undefined,
): Partial<Record<WindowName, Value>> {
  const values: Partial<Record<WindowName, Value>> = {};
  for (const name of windowNames) {
    const value = valueOf(name);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** Builds a value for each window. */
export function forAll<Value>(valueOf: (name: WindowName) => Value): Record<WindowName, Value>;
export function forAll(valueOf: (name: WindowName) => unknown): object {
  return Object.fromEntries(windowNames.map((name) => [name, valueOf(name)]));
}

/** Converts the value of each window that has one, in the order of the list. */
export function mapWindows<From, To>(
  values: ByWindow<From>,
  convert: (value: From, name: WindowName) => To,
): Partial<Record<WindowName, To>> {
  return byWindow((name) => {
    const value = values[name];
    return value === undefined ? undefined : convert(value, name);
  });
}

/** Whether any window has a value. */
export function hasWindow(values: ByWindow<unknown>): boolean {
  return windowNames.some((name) => values[name] !== undefined);
}

/** The shortest window that has a value, with it. @throws TypeError if none has */
export function firstWindow<Value>(values: ByWindow<Value>): { name: WindowName; value: Value } {
  for (const name of windowNames) {
    const value = values[name];
    if (value !== undefined) return { name, value };
  }
  throw new TypeError('no window has a value');
}

/** Length of the window that contains a time, in milliseconds. */
export function windowLengthMs(name: WindowName, nowMs: number): number {
  const { lengthMs, calendar } = byName[name];
  if (lengthMs !== undefined) return lengthMs;
  return calendar === 'day' ? dayMs : endOfMonth(nowMs) - startOfMonth(nowMs);
}

/**
 * Milliseconds from a time to the end of the window that contains it, if windows of a fixed length begin at multiples of
 * it, as they do without Redis.
 */
export function alignedLeftMs(name: WindowName, nowMs: number): number {
  if (byName[name].calendar === 'month') return endOfMonth(nowMs) - nowMs;
  const lengthMs = windowLengthMs(name, nowMs);
  return lengthMs - (nowMs % lengthMs);
}

/** Start of the calendar window that contains a time. */
export function calendarStartMs(name: WindowName, nowMs: number): number {
  return byName[name].calendar === 'month' ? startOfMonth(nowMs) : nowMs - (nowMs % dayMs);
}

function startOfMonth(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}

function endOfMonth(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
}

/** State of one window after a decision. */
export interface WindowState {
  /** Units that the window allows, which is requests unless some cost more than one. */
  limit: number;
  /** Units left in the window; never negative. */
  remaining: number;
  /** Milliseconds from the decision to the end of the window. */
  resetMs: number;
}

/** State of each window that has a limit. */
export type WindowStates = ByWindow<WindowState>;

/**
 * The window that refuses a request: of those with less left than it costs, the one that ends last, since a retry can succeed
 * only then.
 * @returns undefined if none has less
 */
export function refusingWindow(
  states: ByWindow<Pick<WindowState, 'remaining' | 'resetMs'>>,
  units = 1,
): WindowName | undefined {
  let refusing: WindowName | undefined;
  let latest = -Infinity;
  for (const { name } of windows) {
    const state = states[name];
    if (state === undefined || state.remaining >= units || state.resetMs < latest) continue;
    refusing = name;
    latest = state.resetMs;
  }
  return refusing;
}

/**
 * The window with the fewest units left, which will refuse first; on a tie the one that ends later.
 * @throws TypeError if none has a limit
 */
export function bindingState(states: WindowStates): WindowState {
  let binding: WindowState | undefined;
  for (const { name } of windows) {
    const state = states[name];
    if (state === undefined) continue;
    const isTie = state.remaining === binding?.remaining;
    if (
      binding === undefined ||
      (isTie ? state.resetMs >= binding.resetMs : state.remaining < binding.remaining)
    )
      binding = state;
  }
  if (binding === undefined) throw new TypeError('no window has a limit');
  return binding;
}

export const dayMs = 86_400_000;

/** Number of UTC days since the Unix epoch. */
export function dayNumberOf(nowMs: number): number {
  return Math.floor(nowMs / dayMs);
}

/** @returns the UTC date of a day number as YYYYMMDD */
export function utcDate(dayNumber: number): string {
  return new Date(dayNumber * dayMs).toISOString().slice(0, 10).replaceAll('-', '');
}
