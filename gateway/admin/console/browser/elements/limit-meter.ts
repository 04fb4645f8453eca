import { html, nothing } from 'lit';
import { currentTitle, windowNames } from '../../../../limits/windows.ts';
import { formatDuration, formatNumber, formatTime } from '../format.ts';
import { usedOf } from '../key.ts';
import type { CustomerDetail, LimitInForce, WindowView } from '../responses.ts';
import { url } from '../url.ts';
import { LightElement } from './light-element.ts';

/** Share of a limit from which on it is nearly used up. */
const nearShare = 0.8;

/** One window of a key: a meter with its figures, where the limit comes from, and when the window ends. */
export class LimitMeter extends LightElement {
  static override properties = {
    heading: {},
    window: { attribute: false },
    source: { attribute: false },
    plan: {},
    now: {},
    until: {},
  };

  heading = '';
  plan = '';
  /** Time at which the window was read, ISO 8601. */
  now = '';
  /** End of the temporary limits of the key, ISO 8601. */
  until = '';
  window: WindowView | undefined;
  source: LimitInForce | undefined;

  override render() {
    if (this.window === undefined || this.source === undefined) return;
    const { used, limit, remaining, resetsAt } = this.window;
    const max = limit ?? Math.max(used, 1);
    return html`<section class="panel limit-meter">
      <h3>${this.heading}</h3>
      <p class="figure">${usedOf(this.window)}</p>
      <meter
        min="0"
        max=${max}
        low=${max * nearShare}
        high=${max - 0.5}
        optimum="0"
        .value=${Math.min(used, max)}
        aria-label=${`${this.heading}: ${usedOf(this.window)}`}
      ></meter>
      <p class="quiet">
        ${remaining === null ? 'The limit is not known.' : `${formatNumber(remaining)} left.`} Resets in
        ${formatDuration((Date.parse(resetsAt) - Date.parse(this.now)) / 1000)}, at
        ${formatTime(resetsAt, { dateStyle: 'time' })}.
      </p>
      <p class="quiet">${this.describeSource(this.source)}</p>
    </section>`;
  }

  describeSource({ from, plan }: LimitInForce) {
    const ofPlan = plan === null ? 'no limit' : formatNumber(plan);
    switch (from) {
      case 'temporary':
        return html`Temporary limit, until ${formatTime(this.until)}. Its plan ${this.plan} has ${ofPlan}.`;
      case 'key':
        return html`Own limit of the customer. Its plan ${this.plan} has ${ofPlan}.`;
      case 'plan':
        return html`Limit of its plan <a href=${url`/console/plans/${this.plan}`}>${this.plan}</a>.`;
      case 'gateways':
        return html`Redis has no valid limit of the plan
          <a href=${url`/console/plans/${this.plan}`}>${this.plan}</a>: gateways keep the last valid one.`;
      default:
        return html`Neither the customer nor its plan ${this.plan} has a valid limit.`;
    }
  }
}

customElements.define('limit-meter', LimitMeter);

interface Metered extends Pick<CustomerDetail, 'plan' | 'temporary' | 'now' | 'windows' | 'limits'> {}

/** A meter for each window of a key or a customer. */
export const limitMeters = ({ windows, limits, plan, temporary, now }: Metered) =>
  html`<div class="panels">
    ${windowNames.map((name) =>
      windows[name] === undefined
        ? nothing
        : html`<limit-meter
            heading=${currentTitle(name)}
            plan=${plan}
            now=${now}
            until=${temporary?.until ?? ''}
            .window=${windows[name]}
            .source=${limits[name]}
          ></limit-meter>`,
    )}
  </div>`;
