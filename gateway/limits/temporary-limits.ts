import { z } from 'zod';
import { limitsIn, type SomeLimits } from './limits.ts';
import { formatTimedLimits, parseTimedLimits, timedLimitsFields, type FieldTexts } from './timed-limits.ts';
import { windowNames } from './windows.ts';

/** Limits of a key that hold until a time, in place of its own ones and of its plan's. */
export type TemporaryLimits = SomeLimits & {
  /** End, ISO 8601 in UTC. */
  until: string;
};

/** What of a key limits its requests, besides its plan. */
export interface OwnLimits extends SomeLimits {
  temporary?: TemporaryLimits | undefined;
}

const isoTime = z.iso.datetime({ offset: true });

const fields = {
  prefix: 'temporary',
  timeField: 'temporaryUntil',
  timeIs: 'an ISO 8601 time',
  parseTime: (text: string) => isoTime.safeParse(text).data,
  consequence: 'so the temporary limits are off',
};

/** Fields in the record of a key. */
export const temporaryFields = timedLimitsFields(fields);

/** Parses the fields in the record of a key. Never throws: it may have been edited by hand. */
export function parseTemporary(texts: FieldTexts): {
  temporary: TemporaryLimits | undefined;
  issues: string[];
} {
  const { found, issues } = parseTimedLimits(fields, texts);
  return { temporary: found && { ...found.limits, until: found.time }, issues };
}

/** Formats them as fields of the record. An empty value stands for a field that it must not have. */
export function formatTemporary(temporary: TemporaryLimits | undefined): Record<string, string> {
  return formatTimedLimits(fields, temporary, temporary?.until);
}

/** The temporary limits of a key, unless they have ended. */
export function temporaryAt({ temporary }: OwnLimits, nowMs: number): TemporaryLimits | undefined {
  return temporary !== undefined && Date.parse(temporary.until) > nowMs ? temporary : undefined;
}

/** A key with the own limits that it has at a time. It is the same object unless some are temporary. */
export function limitedAt<Key extends OwnLimits>(key: Key, nowMs: number): Key {
  const temporary = temporaryAt(key, nowMs);
  return temporary === undefined ? key : { ...key, ...limitsIn(temporary) };
}

/** Own limits of a key at any time: of two for a window the lower one. */
export function lowestOwnLimits({ temporary, ...own }: OwnLimits): SomeLimits {
  const lowest: SomeLimits = { ...own };
  for (const name of windowNames) {
    const limit = temporary?.[name];
    if (limit !== undefined) lowest[name] = Math.min(limit, own[name] ?? Infinity);
  }
  return lowest;
}
