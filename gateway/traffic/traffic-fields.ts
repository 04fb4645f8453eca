export { durationBounds } from '../observability/duration-bounds.ts';

/** Counts of a time span by field, as a bucket of the record has them. */
export type TrafficCounts = Map<string, number>;

/** What a field counts, with its first letter. */
const kinds = [
  /** Requests by class of status and plan. */
  ['requests', 'r'],
  /** Requests refused because a window was used up, by the window that refused and plan. */
  ['refusals', 'w'],
  /** New bans, by plan. */
  ['bans', 'b'],
  /** Requests refused during a ban, by plan. */
  ['bannedRequests', 'x'],
  /** Requests refused for want of a valid key, by the plan of addresses. */
  ['unauthenticated', 'u'],
  /** Requests refused because their address is blocked, by the plan of addresses. */
  ['blockedRequests', 'k'],
  /** Requests decided without Redis, by plan. */
  ['localDecisions', 'l'],
  /** Requests by class of status and upper bound of their duration in milliseconds, or `inf`. */
  ['durations', 't'],
] as const;

export type TrafficKind = (typeof kinds)[number][0];

export interface TrafficField {
  kind: TrafficKind;
  /** Class of status, such as 2xx, or name of a window; empty for kinds without. */
  status: string;
  /** A plan, or the bound of a duration. Empty for plans that have no field of their own. */
  name: string;
}

const letterOf = new Map<TrafficKind, string>(kinds);
const kindOf = new Map<string, TrafficKind>(kinds.map(([kind, letter]) => [letter, kind]));

/** Names are part of thousands of fields. Plans made with the ops command have at most 32 characters. */
const maxNameLength = 64;

/**
 * Number of fields of a bucket, some 40 plans, from which on further plans share a field without a name. Durations still
 * get fields: they are bounded.
 */
export const maxFields = 500;

/** Formats a field such as `r2xx:free`. The name comes last, and so may contain any character. */
export function formatField({ kind, status, name }: TrafficField): string {
  return `${letterOf.get(kind)}${status}:${name.length > maxNameLength ? '' : name}`;
}

/** @returns undefined for a field that was written by hand */
export function parseField(field: string): TrafficField | undefined {
  const [, letter = '', status = '', name = ''] = /^([a-z])(\w*):(.*)$/s.exec(field) ?? [];
  const kind = kindOf.get(letter);
  if (kind === undefined || (kind === 'durations' && !/^(inf|\d+(\.\d+)?)$/.test(name))) return undefined;
  return { kind, status, name };
}

/** Formats the upper bound of a duration in seconds as the name of a field. */
export function formatBound(seconds: number): string {
  return seconds === Infinity ? 'inf' : String(Math.round(seconds * 1e6) / 1000);
}

/** @returns the upper bound in seconds */
export function parseBound(name: string): number {
  return name === 'inf' ? Infinity : Number(name) / 1000;
}

/** Adds a count to a field; once there are too many fields, to the one of all further plans. */
export function addCount(counts: TrafficCounts, field: string, count: number): void {
  const known = counts.get(field);
  if (known !== undefined || counts.size < maxFields || parseField(field)?.kind === 'durations') {
    counts.set(field, (known ?? 0) + count);
  } else {
    const shared = field.slice(0, field.indexOf(':') + 1);
    counts.set(shared, (counts.get(shared) ?? 0) + count);
  }
}

/** The same counts for all plans together, except for the one that is kept, with some 100 fields at most. */
export function withoutPlans(counts: TrafficCounts, keptPlan?: string): TrafficCounts {
  const sums: TrafficCounts = new Map();
  for (const [text, count] of counts) {
    const field = parseField(text);
    if (field === undefined) continue;
    const isKept = field.kind === 'durations' || field.name === keptPlan;
    const sum = isKept ? text : formatField({ ...field, name: '' });
    sums.set(sum, (sums.get(sum) ?? 0) + count);
  }
  return sums;
}

/** Number of requests in the counts. */
export function requestsIn(counts: TrafficCounts): number {
  return Array.from(counts).reduce(
    (sum, [field, count]) => (parseField(field)?.kind === 'requests' ? sum + count : sum),
    0,
  );
}
