/*
 * Bounds, default and words of each number of a setting, for its schema, options of the command, the operators' API and fields
 * of the console: also a browser loads this.
 */
import { maxLimit } from './limits.ts';
import { eachExactly, type WindowName } from './windows.ts';

export interface NumberField {
  min: number;
  max: number;
  default: number;
  /** Whether it may have up to three decimals, with which Lua and JavaScript calculate exactly enough. */
  decimals?: true;
  /** In a form. */
  label: string;
  meaning: string;
}

/** The only window of the limit of an address. */
export const anonymousWindow = 'minute' satisfies WindowName;

/** The limit of each address for requests without a valid key. */
export const anonymousField: NumberField = {
  min: 1,
  max: maxLimit,
  default: 60,
  label: 'Limit of each address, requests a minute',
  meaning: `requests ${eachExactly(anonymousWindow)}`,
};

/** How long use is kept, besides the present day. */
export const retentionField: NumberField = {
  min: 1,
  /** Some eleven years. */
  max: 4000,
  default: 400,
  label: 'Kept for, days',
  meaning: 'days for which the usage of each customer and day is kept',
};

const monthSeconds = 30 * 86_400;

export const banPolicyFields = {
  graceSeconds: {
    min: 0,
    max: 3600,
    default: 10,
    label: 'Grace, seconds',
    meaning: 'seconds after the first refusal in which none is a strike',
  },
  strikes: {
    min: 1,
    max: 1_000_000,
    default: 60,
    label: 'Refusals before a ban, requests',
    meaning: 'strikes (refused requests after the grace period) that lead to a ban',
  },
  strikesPerLimit: {
    min: 0,
    max: 1000,
    default: 1,
    decimals: true,
    label: 'Refusals by limit, times the minute limit',
    meaning:
      "strikes for each request of the minute limit of the key's customer, if it has one and that is more",
  },
  windowSeconds: {
    min: 1,
    max: 3600,
    default: 60,
    label: 'Within, seconds',
    meaning: 'seconds within which the strikes lead to a ban',
  },
  banSeconds: {
    min: 1,
    max: monthSeconds,
    default: 60,
    label: 'First ban, seconds',
    meaning: 'seconds of the first ban; doubles if the key goes on during it',
  },
  maxBanSeconds: {
    min: 1,
    max: monthSeconds,
    default: 3600,
    label: 'Longest ban, seconds',
    meaning: 'seconds of the longest ban; at least banSeconds',
  },
  resetSeconds: {
    min: 1,
    max: monthSeconds,
    default: 86_400,
    label: 'Forgotten after, seconds',
    meaning: 'seconds without a ban after which the next one is a first one',
  },
} as const satisfies Record<string, NumberField>;

/** Each number of the policy, as operators name it. */
export const policyFields: Readonly<Record<string, NumberField>> = {
  ...banPolicyFields,
  anonymousMinute: anonymousField,
  retentionDays: retentionField,
};

type BanPolicyField = keyof typeof banPolicyFields;

/** Makes an object with a value for each number of the ban policy. */
export function byPolicyField<Value>(valueOf: (field: NumberField) => Value): Record<BanPolicyField, Value>;
export function byPolicyField(valueOf: (field: NumberField) => unknown): object {
  return Object.fromEntries(Object.entries(banPolicyFields).map(([name, field]) => [name, valueOf(field)]));
}

/** @returns the strikes that lead to a ban of a key with this minute limit, or without one, as consume.lua decides */
export function strikesToBan(
  { strikes, strikesPerLimit }: { strikes: number; strikesPerLimit: number },
  minuteLimit = 0,
): number {
  return Math.max(strikes, Math.ceil(minuteLimit * strikesPerLimit));
}

/** Values of a setting in words. */
export function describeValues(values: object): string {
  return Object.entries(values)
    .map(([field, value]) => `${field} ${value}`)
    .join(', ');
}
