import { defaultBanPolicy, type BanPolicy } from '../../gateway/quota/ban-policy.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { OwnerLimits, WindowLimits } from './history.ts';

/** A key, and what it has used of its minute when the history begins, so that some minutes end soon. */
export interface PlannedKey extends OwnerLimits {
  name: string;
  opened?: { used: number; leftMs: number } | undefined;
}

/**
 * - steady: one request after another
 * - burst: several at once
 * - obedient: waits for Retry-After
 * - stubborn: goes on at once
 */
export type Manner = 'steady' | 'burst' | 'obedient' | 'stubborn';

export interface PlannedClient {
  name: string;
  key: string;
  manner: Manner;
  /** Gateways that it uses by turns. */
  gateways: readonly number[];
  /** Pause after a response. */
  everyMs: number;
  fromMs: number;
  /** Whether it uses the replacement of a rotated key at once, and not only when the old one is refused. */
  isPrompt: boolean;
}

/** What an operator does, and when. */
export type PlannedChange = { atMs: number } & (
  | { does: 'set limits'; key: string; limits: OwnerLimits }
  | { does: 'set plan'; plan: string; limits: WindowLimits }
  | { does: 'revoke'; key: string }
  | { does: 'rotate'; key: string; graceMs: number }
  | { does: 'ban'; key: string; forMs: number }
  | { does: 'lift'; key: string }
);

export type FaultKind =
  | 'pause redis'
  | 'restart redis'
  | 'cut link'
  | 'delay link'
  | 'lose reply'
  | 'pause gateway'
  | 'kill gateway'
  | 'restart gateway'
  | 'pause upstream'
  | 'kill upstream';

export interface PlannedFault {
  atMs: number;
  forMs: number;
  kind: FaultKind;
  /** Undefined for what all gateways share. */
  gateway?: number | undefined;
}

export interface Schedule {
  seed: number;
  lengthMs: number;
  gateways: number;
  policy: BanPolicy;
  plans: Readonly<Record<string, WindowLimits>>;
  keys: readonly PlannedKey[];
  clients: readonly PlannedClient[];
  changes: readonly PlannedChange[];
  faults: readonly PlannedFault[];
}

export interface ScheduleOptions {
  seed: number;
  lengthMs: number;
  gateways?: number;
  /** Kinds of faults; all if absent. */
  kinds?: readonly FaultKind[];
}

const allKinds: readonly FaultKind[] = [
  'pause redis',
  'restart redis',
  'cut link',
  'delay link',
  'lose reply',
  'pause gateway',
  'kill gateway',
  'restart gateway',
  'pause upstream',
  'kill upstream',
];
const manners: readonly Manner[] = ['steady', 'burst', 'obedient', 'stubborn'];
/** Time without faults at the beginning and the end, and between two faults of the same thing. */
const quietMs = 1500;

/** The schedule of a seed: always the same. */
export function makeSchedule({
  seed,
  lengthMs,
  gateways: count,
  kinds = allKinds,
}: ScheduleOptions): Schedule {
  const random = seededRandom(seed);
  const between = (low: number, high: number) => Math.floor(low + random() * (high - low + 1));
  const pick = <T>(among: readonly T[]): T => among[Math.floor(random() * among.length)] as T;
  const chance = (odds: number) => random() < odds;

  const gateways = count ?? between(2, 3);
  const limits = (): WindowLimits => ({ minute: between(4, 30), day: between(20, 120) });
  const plans = { small: limits(), large: limits() };
  const ownLimits = (): OwnerLimits => ({
    plan: pick(['small', 'large']),
    ...(chance(0.4) ? { minute: between(3, 40) } : {}),
    ...(chance(0.4) ? { day: between(10, 150) } : {}),
  });
  const keys = Array.from({ length: between(4, 7) }, (_, index): PlannedKey => ({
    name: `key${index + 1}`,
    ...ownLimits(),
    ...(chance(0.6)
      ? { opened: { used: between(1, 8), leftMs: between(1500, Math.min(lengthMs, 30_000)) } }
      : {}),
  }));
  const clients = keys.flatMap(({ name: key }, keyIndex) =>
    Array.from({ length: between(1, 3) }, (_, index): PlannedClient => ({
      name: `client${keyIndex + 1}.${index + 1}`,
      key,
      manner: pick(manners),
      gateways: chance(0.5)
        ? Array.from({ length: gateways }, (_, gateway) => gateway)
        : [between(0, gateways - 1)],
      everyMs: between(30, 300),
      fromMs: chance(0.7) ? 0 : between(0, lengthMs / 3),
      isPrompt: chance(0.5),
    })),
  );
  const key = () => pick(keys).name;
  const ended = new Set<string>();
  const changeOf = (does: PlannedChange['does'], atMs: number): PlannedChange[] => {
    switch (does) {
      case 'set limits':
        return [{ atMs, does, key: key(), limits: ownLimits() }];
      case 'set plan':
        return [{ atMs, does, plan: pick(['small', 'large']), limits: limits() }];
      case 'revoke': {
        const revoked = key();
        ended.add(revoked);
        return [{ atMs, does, key: revoked }];
      }
      case 'rotate':
        return [{ atMs, does, key: key(), graceMs: pick([0, 1000, 3000]) }];
      case 'ban':
      case 'lift': {
        const banned = key();
        const ban = { atMs, does: 'ban' as const, key: banned, forMs: between(1000, 6000) };
        return chance(0.5) ? [ban, { atMs: atMs + between(300, 2500), does: 'lift', key: banned }] : [ban];
      }
    }
  };
  const kindsOfChange = [
    'set limits',
    'set limits',
    'set plan',
    'set plan',
    'revoke',
    'rotate',
    'ban',
    'ban',
  ] as const;
  const changes = Array.from({ length: Math.max(3, Math.round(lengthMs / 1200)) }, () => {
    const does = pick(kindsOfChange);
    // Some keys work to the end.
    const isTooMuch = does === 'revoke' && ended.size >= keys.length / 3;
    return changeOf(isTooMuch ? 'set limits' : does, between(300, lengthMs - 1000));
  }).flat();
  // What stubborn clients have earned is lifted now and then.
  for (const { key: stubborn } of clients.filter(({ manner }) => manner === 'stubborn')) {
    if (chance(0.5))
      changes.push({ atMs: between(lengthMs / 2, lengthMs - 500), does: 'lift', key: stubborn });
  }
  const faults: PlannedFault[] = [];
  const busyUntil = new Map<string, number>();
  for (let atMs = quietMs; ;) {
    atMs += between(100, 2000);
    const kind = pick(kinds);
    const forMs = between(50, 2500);
    if (atMs > lengthMs - quietMs) break;
    if (atMs + forMs > lengthMs - quietMs) continue;
    const gateway =
      kind.endsWith('redis') || kind.endsWith('upstream') ? undefined : between(0, gateways - 1);
    const target = `${targetOf(kind)}${gateway ?? ''}`;
    if ((busyUntil.get(target) ?? 0) > atMs) continue;
    busyUntil.set(target, atMs + forMs + quietMs);
    faults.push({ atMs, forMs, kind, gateway });
  }
  const policy = {
    ...defaultBanPolicy,
    graceSeconds: pick([0, 1, 2]),
    strikes: between(4, 15),
    strikesPerLimit: pick([0, 0.5]),
    banSeconds: between(1, 4),
    maxBanSeconds: 8,
  };
  const inOrder = <T extends { atMs: number }>(events: T[]) =>
    events.toSorted((one, other) => one.atMs - other.atMs);
  return {
    seed,
    lengthMs,
    gateways,
    policy,
    plans,
    keys,
    clients,
    changes: inOrder(changes),
    faults: inOrder(faults),
  };
}

export function targetOf(kind: FaultKind): 'redis' | 'link' | 'gateway' | 'upstream' {
  if (kind === 'lose reply') return 'link';
  return kind.slice(kind.indexOf(' ') + 1) as 'redis' | 'link' | 'gateway' | 'upstream';
}

/** One line for each event, in order. */
export function describeSchedule({
  seed,
  lengthMs,
  gateways,
  keys,
  clients,
  changes,
  faults,
}: Schedule): string[] {
  const events = [
    ...changes.map(({ atMs, does, ...rest }) => ({ atMs, text: `${does} ${JSON.stringify(rest)}` })),
    ...faults.map(({ atMs, forMs, kind, gateway }) => ({
      atMs,
      text: `${kind}${gateway === undefined ? '' : ` ${gateway}`} for ${forMs} ms`,
    })),
  ].toSorted((one, other) => one.atMs - other.atMs);
  return [
    `seed ${seed}: ${lengthMs / 1000} s, ${gateways} gateways`,
    ...keys.map((key) => `  ${JSON.stringify(key)}`),
    ...clients.map(
      ({ name, key, manner, everyMs, gateways: used }) =>
        `  ${name}: ${key}, ${manner}, every ${everyMs} ms, gateways ${used.join(' ')}`,
    ),
    ...events.map(({ atMs, text }) => `  ${String(atMs).padStart(6)} ms  ${text}`),
  ];
}
