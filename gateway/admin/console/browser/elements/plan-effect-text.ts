import { html, nothing } from 'lit';
import { fieldOf, windowNames } from '../../../../limits/windows.ts';
import { formatNumber, formatRelative, formatShare, formatTime, plural } from '../format.ts';
import type { PlanEffect, PlanTrial } from '../responses.ts';

type Report = NonNullable<PlanTrial['report']>;

/** What limits would do if they were saved now. */
export const effectText = ({ now, asOf, counting, trial }: PlanEffect) =>
  html`${now === null || (asOf === null && now.keys === 0) ? nothing : html`<p>${asOf === null ? 'So far: ' : nothing}${nowText(now)} ${asOfText(asOf)}</p>`}
  ${
    counting === null
      ? nothing
      : html`<p class="quiet">
          ${now === null ? 'Counting the keys' : 'Counting again'}: ${formatNumber(counting.read)} of
          ${formatNumber(counting.total)}…
        </p>`
  }
  ${trial === null ? nothing : html`<p>${trialText(trial)}</p>`}`;

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

/** What a trial of the same limits has found. */
function trialText({ since, report }: PlanTrial) {
  if (report === null) return 'These limits are on trial; its requests are being counted.';
  return html`These limits have been on trial since ${formatRelative(since)}: ${refusedText(report)}`;
}

export function refusedText({ requests, refused, refusedShare, refusedKeys }: Report) {
  if (requests === 0) return 'no requests yet.';
  if (refused === 0) return `none of ${plural(requests, 'request')} would have been refused.`;
  return `${formatNumber(refused)} of ${plural(requests, 'request')} (${formatShare(refusedShare)}) of ${plural(refusedKeys, 'key')} would have been refused.`;
}
