import { defaultBanPolicy } from '../../gateway/quota/policies.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { OwnerLimits, WindowLimits } from './history.ts';
import {
  faultKinds,
  targetOf,
  type Manner,
  type PlannedChange,
  type PlannedClient,
  type PlannedFault,
  type PlannedKey,
  type Schedule,
} from './schedule.ts';

/** What a seed decides, in the order in which it is asked. */
function drawsOf(seed: number) {
  const random = seededRandom(seed);
  return {
    between: (low: number, high: number) => Math.floor(low + random() * (high - low + 1)),
    pick: <T>(among: readonly T[]): T => among[Math.floor(random() * among.length)] as T,
    chance: (odds: number) => random() < odds,
  };
}

export const mostGateways = 3;
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
const manners: readonly Manner[] = ['steady', 'burst', 'obedient', 'stubborn'];
/** Time without faults at the beginning and the end, and between two faults of the same thing. */
const quietMs = 1500;

/** The schedule of a seed: always the same. */
export function makeSchedule({ seed, lengthMs }: Pick<Schedule, 'seed' | 'lengthMs'>): Schedule {
  const { between, pick, chance } = drawsOf(seed);

  const gateways = between(2, mostGateways);
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
  const changeOf = (does: (typeof kindsOfChange)[number], atMs: number): PlannedChange[] => {
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
      case 'ban': {
        const banned = key();
        const ban = { atMs, does: 'ban' as const, key: banned, forMs: between(1000, 6000) };
        return chance(0.5) ? [ban, { atMs: atMs + between(300, 2500), does: 'lift', key: banned }] : [ban];
      }
    }
  };
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
    const kind = pick(faultKinds);
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
  changes.push(...planOfCustomers({ seed, lengthMs, gateways, keys }, ended));
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
  const events = { changes: inOrder(changes), faults: inOrder(faults) };
  return { seed, lengthMs, gateways, policy, plans, keys, clients, ...events };
}

/**
 * What customers do in the portal, and a suspension. It has draws of its own, so that all else of a seed's schedule is as it was
 * before these were added.
 */
function planOfCustomers(
  { seed, lengthMs, gateways, keys }: Pick<Schedule, 'seed' | 'lengthMs' | 'gateways' | 'keys'>,
  ended: Set<string>,
): PlannedChange[] {
  const { between, pick, chance } = drawsOf(-1 - seed);
  const changes = Array.from({ length: Math.max(2, Math.round(lengthMs / 3000)) }, (): PlannedChange => {
    const { name: key } = pick(keys);
    const rest = { key, gateway: between(0, gateways - 1), atMs: between(500, lengthMs - 1000) };
    const does = pick(['create in portal', 'rotate in portal', 'revoke in portal'] as const);
    if (does === 'rotate in portal') return { ...rest, does, graceMs: pick([0, 1000, 3000]) };
    if (does === 'create in portal' || ended.size >= keys.length / 2)
      return { ...rest, does: 'create in portal' };
    ended.add(key);
    return { ...rest, does };
  });
  if (chance(0.6)) {
    const { name: key } = pick(keys);
    const atMs = between(1000, lengthMs - 4000);
    changes.push({ atMs, does: 'suspend', key }, { atMs: atMs + between(1500, 4000), does: 'resume', key });
  }
  return changes;
}
