import { formatDuration, formatNumber } from './format.js';

/**
 * @typedef {{
 *   enabled: boolean,
 *   graceSeconds: number,
 *   strikes: number,
 *   strikesPerLimit: number,
 *   windowSeconds: number,
 *   banSeconds: number,
 *   maxBanSeconds: number,
 *   resetSeconds: number,
 * }} BanPolicy
 */

/** @typedef {Exclude<keyof BanPolicy, 'enabled'>} NumberField */

/** @type {{ name: NumberField, label: string, unit: string, meaning: string }[]} */
export const policyFields = [
  {
    name: 'graceSeconds',
    label: 'Grace',
    unit: 'seconds',
    meaning:
      'After the first refusal, refused requests do not count for so long: a client has time to notice.',
  },
  {
    name: 'strikes',
    label: 'Refusals before a ban',
    unit: 'requests',
    meaning:
      'Refused requests after the grace that lead to a ban, at least. A served request begins a new grace.',
  },
  {
    name: 'strikesPerLimit',
    label: 'The same by limit',
    unit: 'times the minute limit',
    meaning: 'For keys with a larger minute limit: whichever of the two is more counts.',
  },
  {
    name: 'windowSeconds',
    label: 'Within',
    unit: 'seconds',
    meaning: 'The time in which so many refused requests lead to a ban.',
  },
  {
    name: 'banSeconds',
    label: 'First ban',
    unit: 'seconds',
    meaning: 'A ban during which the key went on is followed by one of twice its length.',
  },
  {
    name: 'maxBanSeconds',
    label: 'Longest ban',
    unit: 'seconds',
    meaning: 'At least the length of the first ban.',
  },
  {
    name: 'resetSeconds',
    label: 'Forgotten after',
    unit: 'seconds',
    meaning: 'So long after the end of a ban, the next one is a first one again.',
  },
];

const shownLengths = 4;

/**
 * What a valid policy does, in sentences.
 * @param {BanPolicy} policy
 * @param {readonly { name: string, minute: number | null }[]} plans
 * @returns {string[]}
 */
export function policySentences(policy, plans) {
  const { enabled, graceSeconds, windowSeconds, resetSeconds } = policy;
  if (!enabled)
    return [
      'No key is banned any more, however long it goes on after 429. Bans that run now end as announced.',
    ];
  const limits = plans.flatMap(({ name, minute }) => (minute === null ? [] : [{ name, minute }]));
  const byPlan = limits.map(({ name, minute }) => `${name} ${formatNumber(strikesToBan(policy, minute))}`);
  return [
    `A key is banned once so many of its requests are refused within ${formatDuration(windowSeconds)}, not counting the first ${formatDuration(graceSeconds)} after it crossed a limit: ${byPlan.join(', ')}.`,
    `Bans last ${lengthsText(policy)}, each after one that the key ignored. After ${formatDuration(resetSeconds)} without a ban, it begins anew.`,
  ];
}

/**
 * As consume.lua decides.
 * @param {BanPolicy} policy
 * @param {number} minuteLimit
 */
export const strikesToBan = ({ strikes, strikesPerLimit }, minuteLimit) =>
  Math.max(strikes, Math.ceil(minuteLimit * strikesPerLimit));

/** @param {BanPolicy} policy */
function lengthsText({ banSeconds, maxBanSeconds }) {
  /** @type {number[]} */
  const lengths = [];
  for (let seconds = banSeconds; seconds < maxBanSeconds; seconds *= 2) lengths.push(seconds);
  const shown = lengths.slice(0, shownLengths).map(formatDuration);
  if (lengths.length > shownLengths) shown.push('…');
  return [...shown, formatDuration(maxBanSeconds)].join(', ');
}
