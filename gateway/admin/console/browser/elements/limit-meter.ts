import { html, nothing } from 'lit';
import { currentTitle, windowNames, type WindowName } from '../../../../limits/windows.ts';
import { formatDuration, formatNumber, formatTime } from '../format.ts';
import { planLink, usedOf } from '../key.ts';
import type { CustomerDetail, LimitInForce } from '../responses.ts';
import { usedMeter } from './used-meter.ts';

type Metered = Pick<CustomerDetail, 'plan' | 'temporary' | 'now' | 'windows' | 'limits'>;

/** A meter for each window of a key or a customer, with its figures, where the limit comes from, and when the window ends. */
export const limitMeters = (metered: Metered) =>
  html`<div class="panels">${windowNames.map((name) => limitMeter(name, metered))}</div>`;

function limitMeter(name: WindowName, metered: Metered) {
  const [window, source] = [metered.windows[name], metered.limits[name]];
  if (window === undefined || source === undefined) return nothing;
  const { remaining, resetsAt } = window;
  return html`<section class="panel limit-meter">
    <h3>${currentTitle(name)}</h3>
    <p class="figure">${usedOf(window)}</p>
    ${usedMeter(window, `${currentTitle(name)}: ${usedOf(window)}`)}
    <p class="quiet">
      ${remaining === null ? 'The limit is not known.' : `${formatNumber(remaining)} left.`} Resets in
      ${formatDuration((Date.parse(resetsAt) - Date.parse(metered.now)) / 1000)}, at
      ${formatTime(resetsAt, { dateStyle: 'time' })}.
    </p>
    <p class="quiet">${describeSource(source, metered)}</p>
  </section>`;
}

function describeSource({ from, plan: limit }: LimitInForce, { plan, temporary }: Metered) {
  const ofPlan = `Its plan ${plan} has ${limit === null ? 'no limit' : formatNumber(limit)}.`;
  switch (from) {
    case 'temporary':
      return html`Temporary limit, until ${formatTime(temporary?.until ?? '')}. ${ofPlan}`;
    case 'key':
      return `Own limit of the customer. ${ofPlan}`;
    case 'plan':
      return html`Limit of its plan ${planLink(plan)}.`;
    case 'gateways':
      return html`Redis has no valid limit of the plan ${planLink(plan)}: gateways keep the last valid one.`;
    default:
      return `Neither the customer nor its plan ${plan} has a valid limit.`;
  }
}
