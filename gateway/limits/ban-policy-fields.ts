const monthSeconds = 30 * 86_400;

/** Bounds and words of each number of the ban policy. Also a browser loads this. */
export const banPolicyFields = {
  graceSeconds: {
    min: 0,
    max: 3600,
    label: 'Grace, seconds',
    meaning: 'seconds after the first refusal in which none is a strike',
  },
  strikes: {
    min: 1,
    max: 1_000_000,
    label: 'Refusals before a ban, requests',
    meaning: 'strikes (refused requests after the grace period) that lead to a ban',
  },
  strikesPerLimit: {
    min: 0,
    max: 1000,
    label: 'Refusals by limit, times the minute limit',
    meaning: "strikes for each request of the minute limit of the key's customer, if that is more",
  },
  windowSeconds: {
    min: 1,
    max: 3600,
    label: 'Within, seconds',
    meaning: 'seconds within which the strikes lead to a ban',
  },
  banSeconds: {
    min: 1,
    max: monthSeconds,
    label: 'First ban, seconds',
    meaning: 'seconds of the first ban; doubles if the key goes on during it',
  },
  maxBanSeconds: {
    min: 1,
    max: monthSeconds,
    label: 'Longest ban, seconds',
    meaning: 'seconds of the longest ban; at least banSeconds',
  },
  resetSeconds: {
    min: 1,
    max: monthSeconds,
    label: 'Forgotten after, seconds',
    meaning: 'seconds without a ban after which the next one is a first one',
  },
} as const;

export type BanPolicyField = keyof typeof banPolicyFields;

/** @returns the strikes that lead to a ban of a key with this minute limit, as consume.lua decides */
export function strikesToBan(
  { strikes, strikesPerLimit }: { strikes: number; strikesPerLimit: number },
  minuteLimit: number,
): number {
  return Math.max(strikes, Math.ceil(minuteLimit * strikesPerLimit));
}
