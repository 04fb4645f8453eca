import {
  completeLimits,
  equalLimits,
  issueOf,
  parseLimit,
  type Limits,
  type SomeLimits,
} from '../limits/limits.ts';
import { limitedAt, type OwnLimits } from '../limits/temporary-limits.ts';
import { byWindow, requiredWindows, windowNames, windowOf, type WindowName } from '../limits/windows.ts';
import type { InvalidValues, ValueSource } from '../observability/invalid-values.ts';
import { readEnforcedSettings, textFields, type SettingsByKey } from '../redis/enforced-settings.ts';
import type { HashReader } from '../redis/hash-reader.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import {
  parseTrial,
  trialFields,
  trialLimitsOf,
  type OnTrial,
  type Trial,
  type TrialLimits,
} from './trial.ts';

/** Limits of the specification, section 8.2. Redis is seeded with them once, and decides from then on. */
export const defaultPlans: Readonly<Record<string, Limits>> = {
  free: { minute: 60, day: 1000 },
  pro: { minute: 300, day: 10_000 },
  business: { minute: 1000, day: 100_000 },
};

/** The plan without limits of its own: every key on it carries both. */
export const enterprisePlan = 'enterprise';

/** Not a plan for keys, but the limit of each address for requests without a valid key. */
export const anonymousPlan = 'anonymous';
/** The only window of that plan. */
export const anonymousWindow: WindowName = 'minute';
const defaultAnonymousMinute = 60;

/** Limits of the plans that always exist. `anonymous` is one of them. */
export const builtInLimits: Readonly<Record<string, SomeLimits>> = {
  ...defaultPlans,
  [anonymousPlan]: { minute: defaultAnonymousMinute },
};

export interface Plans {
  /**
   * Limits of a key: its own, or else its plan's.
   * @returns undefined if neither is known, for example because the plan does not exist
   */
  limitsOf(key: OwnLimits & { plan: string }): Limits | undefined;
  /**
   * Limits on trial for a key: its customer's, or else its plan's.
   * @param enforced limits of the key
   * @returns undefined if the key is not on trial
   */
  trialOf(key: OnTrial & { plan: string }, enforced: Limits): TrialLimits | undefined;
  /** Requests a minute that one address may make without a valid key. */
  anonymousMinute(): number;
  /** Reads a plan that is not loaded yet. Called for the plan of each key that is read. */
  ensureLoaded(name: string): Promise<void>;
  /**
   * Reads all loaded plans again. Never rejects: an unreadable or invalid value leaves the last valid one, or that of
   * another gateway.
   */
  refresh(): Promise<void>;
  /** Limits in force by the Redis key of the plan: last valid ones, and defaults in place of unknown ones. */
  enforced(): { known: SettingsByKey; defaults: SettingsByKey };
}

/** A key in use is read again, and its plan with it, more often than this. */
const inUseMs = 60_000;

interface PlansDependencies {
  redis: RedisClient;
  hashes: HashReader;
  invalidValues: InvalidValues;
  now: () => number;
  /** Called with the limits in force of each plan, at the start and at each change. */
  onLimits?: (plan: string, limits: SomeLimits) => void;
}

/** Plan limits as last read from Redis. `refresh` runs every half second, so a change is in force within one. */
export function createPlans({ redis, hashes, invalidValues, now, onLimits }: PlansDependencies): Plans {
  /** Last valid limits, from Redis or from another gateway. */
  const known = new Map<string, SomeLimits>(Object.keys(builtInLimits).map((name) => [name, {}]));
  /** Limits in force: the known ones, and defaults below them. */
  const limits = new Map<string, SomeLimits>(Object.entries(builtInLimits));
  /** Valid trials, by plan. */
  const trials = new Map<string, Trial>();
  /** Time at which a key on an operator's own plan was last read. */
  const usedAtMs = new Map<string, number>();
  for (const [name, builtIn] of limits) onLimits?.(name, builtIn);

  /** @param found valid limits; undefined for one that was removed */
  function addKnown(name: string, found: SomeLimits): void {
    const all = { ...known.get(name), ...found };
    known.set(
      name,
      byWindow((window) => all[window]),
    );
    const before = limits.get(name);
    const inForce = { ...builtInLimits[name], ...known.get(name) };
    limits.set(name, inForce);
    if (!equalLimits(inForce, before ?? {})) onLimits?.(name, inForce);
  }

  const lackedFields = (name: string) =>
    requiredFieldsOf(name).filter((field) => known.get(name)?.[field] === undefined);

  const lacks = (name: string) => lackedFields(name).length > 0;

  /** Takes over what other gateways enforce, in place of limits that are not known here. Never rejects. */
  async function takeOver(): Promise<void> {
    const others = await readEnforcedSettings(redis).catch(() => []);
    for (const settings of others) {
      for (const [key, texts] of Object.entries(settings.known)) {
        const [name] = planOfKey(key);
        if (name === undefined) continue;
        if (!lacks(name)) continue;
        addKnown(name, { ...validLimits((window) => texts[window]), ...known.get(name) });
      }
    }
  }

  /** An operator's own plan is reported only while keys on it are in use. */
  function report(name: string, issues: string[]): void {
    const key = redisKeys.plan(name);
    const usedMs = usedAtMs.get(name) ?? Number.NEGATIVE_INFINITY;
    const isInUse = Object.hasOwn(builtInLimits, name) || now() - usedMs < inUseMs;
    if (isInUse) invalidValues.report(key, issues, { enforced: limits.get(name), source: sourceOf(name) });
    else invalidValues.forget(key);
  }

  function sourceOf(name: string): ValueSource {
    if (!lacks(name)) return 'last_valid';
    return Object.hasOwn(builtInLimits, name) ? 'default' : 'none';
  }

  /** If Redis is unavailable, nothing changes. */
  async function refreshPlan(name: string): Promise<void> {
    const fields = fieldsOf(name);
    let texts: Record<string, string>;
    try {
      texts = await hashes.read(redisKeys.plan(name));
    } catch (error) {
      if (!isWrongType(error)) return;
      trials.delete(name);
      report(name, ['is not a hash']);
      return;
    }
    const textOf = (field: string) => texts[field];
    const removed = fields.filter((field) => !windowOf(field).required && textOf(field) === undefined);
    // A plan that is gone as a whole was lost, so that nothing was removed from it.
    const isGone = fields.every((field) => textOf(field) === undefined);
    addKnown(name, {
      ...(isGone ? {} : Object.fromEntries(removed.map((field) => [field, undefined]))),
      ...validLimits((window) => (fields.includes(window) ? textOf(window) : undefined)),
    });
    const limitIssues = fields.flatMap((field) => issueOf(field, textOf(field)) ?? []);
    report(name, [...limitIssues, ...refreshTrial(name, textOf)]);
  }

  /** @returns what is wrong with the trial of the plan */
  function refreshTrial(name: string, textOf: (field: string) => string | undefined): string[] {
    // Only a limit of API keys can be on trial.
    if (name === anonymousPlan) return [];
    const texts = Object.fromEntries(trialFields.map((field) => [field, textOf(field) ?? null]));
    const { trial, issues } = parseTrial(texts);
    if (trial === undefined) trials.delete(name);
    else trials.set(name, trial);
    return issues;
  }

  return {
    limitsOf(key) {
      const planLimits = key.plan === enterprisePlan ? undefined : limits.get(key.plan);
      const own = limitedAt(key, now());
      return completeLimits(byWindow((window) => own[window] ?? planLimits?.[window]));
    },
    trialOf: (key, enforced) => trialLimitsOf(limitedAt(key, now()), trials.get(key.plan), enforced),
    anonymousMinute: () => limits.get(anonymousPlan)?.minute ?? defaultAnonymousMinute,
    async ensureLoaded(name) {
      if (name === enterprisePlan) return;
      if (!Object.hasOwn(builtInLimits, name)) usedAtMs.set(name, now());
      if (known.has(name)) return;
      await refreshPlan(name);
      if (lacks(name)) await takeOver();
    },
    async refresh() {
      if (Array.from(known.keys()).some(lacks)) await takeOver();
      await Promise.all(Array.from(known.keys(), refreshPlan));
    },
    enforced() {
      const settings: ReturnType<Plans['enforced']> = { known: {}, defaults: {} };
      for (const [name, all] of limits) {
        const key = redisKeys.plan(name);
        const own = textFields(known.get(name) ?? {});
        const rest = Object.entries(textFields(all)).filter(([field]) => !Object.hasOwn(own, field));
        if (Object.keys(own).length > 0) settings.known[key] = own;
        if (rest.length > 0) settings.defaults[key] = Object.fromEntries(rest);
      }
      return settings;
    },
  };
}

/** The plan of addresses has one window. */
function fieldsOf(name: string): readonly WindowName[] {
  return name === anonymousPlan ? [anonymousWindow] : windowNames;
}

function requiredFieldsOf(name: string): readonly WindowName[] {
  return name === anonymousPlan ? [anonymousWindow] : requiredWindows;
}

function validLimits(textOf: (window: WindowName) => string | undefined): SomeLimits {
  return byWindow((window) => parseLimit(textOf(window)));
}

/** @returns the name of the plan, or nothing if it is the Redis key of something else */
export function planOfKey(key: string): string[] {
  const prefix = redisKeys.plan('');
  return key.startsWith(prefix) ? [key.slice(prefix.length)] : [];
}
