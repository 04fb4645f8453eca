import { formatDuration, formatNumber } from './format.ts';
import type { BanPolicy } from './responses.ts';

export type NumberField = Exclude<keyof BanPolicy, 'enabled'>;

/** Fields with their labels and meanings. */
const fields: Record<NumberField, [label: string, meaning: string]> = {
  graceSeconds: [
    'Grace, seconds',
    'Time after the first refusal in which refused requests do not count, so that a client can notice.',
  ],
  strikes: [
    'Refusals before a ban, requests',
    'Minimum number of refused requests after the grace that lead to a ban. A served request begins a new grace.',
  ],
  strikesPerLimit: [
    'Refusals by limit, times the minute limit',
    'For keys with a large minute limit. The larger of the two numbers counts.',
  ],
  windowSeconds: ['Within, seconds', 'Time in which that many refused requests lead to a ban.'],
  banSeconds: ['First ban, seconds', 'If the key goes on during a ban, the next one is twice as long.'],
  maxBanSeconds: ['Longest ban, seconds', 'Maximum length. At least that of the first ban.'],
  resetSeconds: [
    'Forgotten after, seconds',
    'Time after the end of a ban from which on the next one counts as a first one.',
  ],
};

const isField = (name: string): name is NumberField => Object.hasOwn(fields, name);

export const policyFields = Object.keys(fields)
  .filter(isField)
  .map((name) => ({ name, label: fields[name][0], meaning: fields[name][1] }));

const shownLengths = 4;

/** What a valid policy does, in sentences. */
export function policySentences(
  policy: BanPolicy,
  plans: readonly { name: string; minute: number | null }[],
): string[] {
  const { enabled, graceSeconds, windowSeconds, resetSeconds } = policy;
  if (!enabled)
    return ['No key is banned for going on after 429. Bans that are active now end at their time.'];
  const limits = plans.flatMap(({ name, minute }) => (minute === null ? [] : [{ name, minute }]));
  const byPlan = limits.map(({ name, minute }) => `${name} ${formatNumber(strikesToBan(policy, minute))}`);
  return [
    `A key is banned after this many refused requests within ${formatDuration(windowSeconds)}, not counting the first ${formatDuration(graceSeconds)} over a limit: ${byPlan.join(', ')}.`,
    `Bans last ${lengthsText(policy)}: each is longer if the key went on during the one before. After ${formatDuration(resetSeconds)} without a ban, the next one has the first length again.`,
  ];
}

/** As consume.lua decides. */
export const strikesToBan = ({ strikes, strikesPerLimit }: BanPolicy, minuteLimit: number) =>
  Math.max(strikes, Math.ceil(minuteLimit * strikesPerLimit));

function lengthsText({ banSeconds, maxBanSeconds }: BanPolicy) {
  const lengths: number[] = [];
  for (let seconds = banSeconds; seconds < maxBanSeconds; seconds *= 2) lengths.push(seconds);
  const shown = lengths.slice(0, shownLengths).map(formatDuration);
  if (lengths.length > shownLengths) shown.push('…');
  return [...shown, formatDuration(maxBanSeconds)].join(', ');
}
