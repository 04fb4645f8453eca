import { html, nothing } from 'lit';
import { count, listTable } from '../../../../browser/elements/table.ts';
import { formatNumber, formatTime, plural } from '../../../../browser/format.ts';
import { fieldOf, windowNames, windowOf } from '../../../../limits/windows.ts';
import { keyLink } from '../key.ts';
import type { PastImpact, PlanEffect } from '../responses.ts';

/** What limits would do if they were saved now. */
export const effectText = ({ now, hardestHit, asOf, counting, past }: PlanEffect) =>
  html`${now === null || (asOf === null && now.keys === 0) ? nothing : html`<p>${asOf === null ? 'So far: ' : nothing}${nowText(now)} ${asOfText(asOf)}</p>`}
  ${now === null || hardestHit.length === 0 ? nothing : hitTable(hardestHit)}
  ${countingText(now === null, counting)}
  ${now === null || now.keys === 0 ? nothing : html`${pastText(past.impacts ?? [])} ${countingText(past.impacts === null, past.counting)}`}`;

const countingText = (isFirst: boolean, counting: PlanEffect['counting']) =>
  counting === null
    ? nothing
    : html`<p class="quiet">
        ${isFirst ? 'Counting the keys' : 'Counting again'}: ${formatNumber(counting.read)} of
        ${formatNumber(counting.total)}…
      </p>`;

const hitTable = (customers: PlanEffect['hardestHit']) =>
  html`${listTable(
    'Customers that would be refused at once',
    customers,
    [
      ['Refused at once', keyLink],
      ['Customer', ({ id }) => html`<code>${id}</code>`],
      ['Plan', ({ plan }) => plan],
      count(
        'Used of its limit',
        ({ window, used, limit }) =>
          `${formatNumber(used)} of ${formatNumber(limit)} ${windowOf(window).current}`,
      ),
    ],
    { headed: false, region: '' },
  )}
  ${onlyText(customers)}`;

/** Customers that an effect names at most. */
const maxNamed = 10;

const onlyText = ({ length }: readonly unknown[]) =>
  length < maxNamed ? nothing : html`<p class="quiet">These ${maxNamed} are hit hardest.</p>`;

/** What limits would have done on the recorded days, with who would have gone over them. */
const pastText = (impacts: readonly PastImpact[]) =>
  html`${impacts.map(
    (impact) =>
      html`<p>${pastImpactText(impact)}</p>
        ${impact.keys === 0 ? nothing : pastTable(impact)}`,
  )}
  ${impacts.length === 0 ? nothing : html`<p class="quiet">${shorterWindows}</p>`}`;

/** What the record cannot answer. */
export const shorterWindows =
  'The record of use has days. It cannot tell about limits of a minute or an hour: shadow limits do.';

function pastImpactText({ window, limit, periods, overPeriods, keys }: PastImpact) {
  const { limitText, last } = pastWords(window, limit, periods);
  if (periods === 0) return `About ${limitText}, nothing is known: no ${window} with use is recorded yet.`;
  if (keys === 0) return `On none of ${last} would a key have gone over ${limitText}.`;
  return html`On <strong>${formatNumber(overPeriods)} of ${last}</strong>, ${plural(keys, 'key')} would have
    gone over ${limitText}.`;
}

/** The same of one key. */
export function pastOfKeyText({ window, limit, periods, overPeriods, most }: PastImpact) {
  const { limitText, last } = pastWords(window, limit, periods);
  if (periods === 0) return `About ${limitText}, nothing is known: no ${window} with use is recorded yet.`;
  if (overPeriods === 0) return `On none of ${last} would it have gone over ${limitText}.`;
  return html`On <strong>${formatNumber(overPeriods)} of ${last}</strong> it would have gone over
    ${limitText}, with ${formatNumber(most[0]?.mostUsed ?? 0)} at most.`;
}

const pastWords = (window: PastImpact['window'], limit: number, periods: number) => ({
  limitText: `${formatNumber(limit)} ${windowOf(window).each}`,
  last:
    periods === 1 ? `the last recorded ${window}` : `the last ${formatNumber(periods)} recorded ${window}s`,
});

const pastTable = ({ window, periods, most }: PastImpact) =>
  html`${listTable(
    `Customers that would have gone over the ${window} limit`,
    most,
    [
      [`Over the ${window} limit`, keyLink],
      ['Customer', ({ id }) => html`<code>${id}</code>`],
      count(
        `${window === 'day' ? 'Days' : 'Months'} over it`,
        ({ overPeriods }) => `${formatNumber(overPeriods)} of ${formatNumber(periods)}`,
      ),
      count('Most used', ({ mostUsed }) => mostUsed),
    ],
    { headed: false, region: '' },
  )}
  ${onlyText(most)}`;

function nowText(now: NonNullable<PlanEffect['now']>) {
  const { keys, over } = now;
  if (keys === 0) return 'No key is on this plan, so nobody would notice.';
  const all =
    keys === 1 ? 'The only key on this plan' : `None of the ${formatNumber(keys)} keys on this plan`;
  if (over === 0) {
    return keys === 1
      ? `${all} has not used up these limits.`
      : `${all} has used up these limits: the next request of each would be served.`;
  }
  const byLimits = windowNames.flatMap((name) => {
    const count = now[fieldOf('over', name)] ?? 0;
    return count === 0 ? [] : [`${formatNumber(count)} by the ${name} limit`];
  });
  return html`<strong class="failure-text"
      >${keys === 1 ? 'The only key' : `${formatNumber(over)} of ${formatNumber(keys)} keys`} on this
      plan</strong
    >
    would be refused at once: ${byLimits.join(', ')}.`;
}

const asOfText = (asOf: string | null) =>
  asOf === null ? nothing : html`<span class="quiet">(at ${formatTime(asOf, { dateStyle: 'time' })})</span>`;
