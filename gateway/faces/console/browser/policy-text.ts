import { strikesToBan } from '../../../limits/setting-fields.ts';
import { formatDuration, formatNumber } from '../../browser/format.ts';
import type { BanPolicy } from './responses.ts';

const shownLengths = 4;

/** What a valid policy does, in sentences. */
export function policySentences(
  policy: BanPolicy,
  plans: readonly { name: string; minute?: number | null | undefined }[],
): string[] {
  const { enabled, graceSeconds, windowSeconds, resetSeconds } = policy;
  if (!enabled)
    return ['No key is banned for going on after 429. Bans that are active now end at their time.'];
  const byPlan = plans.flatMap(({ name, minute }) =>
    minute === null ? [] : [`${name} ${formatNumber(strikesToBan(policy, minute))}`],
  );
  return [
    `A key is banned after this many refused requests within ${formatDuration(windowSeconds)}, not counting the first ${formatDuration(graceSeconds)} over a limit: ${byPlan.join(', ')}.`,
    `Bans last ${lengthsText(policy)}: each is longer if the key went on during the one before. After ${formatDuration(resetSeconds)} without a ban, the next one has the first length again.`,
  ];
}

function lengthsText({ banSeconds, maxBanSeconds }: BanPolicy) {
  const lengths: number[] = [];
  for (let seconds = banSeconds; seconds < maxBanSeconds; seconds *= 2) lengths.push(seconds);
  const shown = lengths.slice(0, shownLengths).map(formatDuration);
  if (lengths.length > shownLengths) shown.push('…');
  return [...shown, formatDuration(maxBanSeconds)].join(', ');
}
