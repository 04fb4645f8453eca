import { html, nothing } from 'lit';
import { windowNames, type WindowName } from '../../../../limits/windows.ts';
import { windowMeter } from '../../../browser/elements/window-meter.ts';
import { formatNumber } from '../../../browser/format.ts';
import { planLink } from '../key.ts';
import type { CustomerDetail, LimitInForce } from '../responses.ts';

type Metered = Pick<CustomerDetail, 'plan' | 'now' | 'windows' | 'limits'>;

/** A meter for each window of a key or a customer, with its figures, where the limit comes from, and when the window ends. */
export const limitMeters = (metered: Metered) =>
  html`<div class="panels">${windowNames.map((name) => limitMeter(name, metered))}</div>`;

function limitMeter(name: WindowName, metered: Metered) {
  const source = metered.limits[name];
  if (source === undefined) return nothing;
  const note = html`<p class="quiet">${describeSource(source, metered.plan)}</p>`;
  return windowMeter(name, metered.windows[name], metered.now, note);
}

function describeSource({ from, plan: limit }: LimitInForce, plan: string) {
  const ofPlan = `Its plan ${plan} has ${limit === null ? 'no limit' : formatNumber(limit)}.`;
  switch (from) {
    case 'customer':
      return `Own limit of the customer. ${ofPlan}`;
    case 'plan':
      return html`Limit of its plan ${planLink(plan)}.`;
    case 'gateways':
      return html`Redis has no valid limit of the plan ${planLink(plan)}: gateways keep the last valid one.`;
    default:
      return `Neither the customer nor its plan ${plan} has a valid limit.`;
  }
}
