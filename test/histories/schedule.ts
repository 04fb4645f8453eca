import type { BanPolicy } from '../../gateway/quota/policies.ts';
import type { Fault, OwnerLimits, WindowLimits } from './history.ts';

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
  | { does: 'suspend'; key: string }
  | { does: 'resume'; key: string }
  /** By the customer of the key, in the portal of a gateway. */
  | { does: 'create in portal'; key: string; gateway: number }
  | { does: 'rotate in portal'; key: string; gateway: number; graceMs: number }
  | { does: 'revoke in portal'; key: string; gateway: number }
);

export const faultKinds = [
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
] as const;
export type FaultKind = (typeof faultKinds)[number];

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

export function targetOf(kind: FaultKind): Fault['target'] {
  if (kind === 'lose reply') return 'link';
  return kind.slice(kind.indexOf(' ') + 1) as Fault['target'];
}

/** One line for each event, in order. */
export function describeSchedule(schedule: Schedule): string[] {
  const { seed, lengthMs, gateways, keys, clients, changes, faults } = schedule;
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
