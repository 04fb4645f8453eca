import { html, nothing } from 'lit';
import { LightElement } from '../../admin/console/browser/elements/light-element.ts';
import { numeric, table } from '../../admin/console/browser/elements/table.ts';
import { usedMeter } from '../../admin/console/browser/elements/used-meter.ts';
import { formatDuration, formatMonth, formatNumber, formatTime } from '../../admin/console/browser/format.ts';
import { usageChart } from '../../docs/browser/usage-chart.ts';
import { currentTitle, windowNames, type WindowName } from '../../limits/windows.ts';
import type { Customer, Key, Usage } from './responses.ts';

/** Plan, what is used of its limits, and what was used by day, service and key. */
class UsageSection extends LightElement {
  static override properties = {
    customer: { attribute: false },
    usage: { attribute: false },
    keys: { attribute: false },
  };

  customer: Customer | undefined;
  usage: Usage | undefined;
  keys: Key[] = [];

  override render() {
    const { customer, usage, keys } = this;
    if (customer === undefined || usage === undefined) return;
    return html`<p>Plan: <strong>${customer.plan}</strong></p>
      <h2>Use now</h2>
      <div class="panels">${windowNames.map((name) => meter(name, customer))}</div>
      ${usage.days.length === 0 ? nothing : usageChart(usage.days)} ${services(usage)} ${byKey(keys)}`;
  }
}

function meter(name: WindowName, { windows, now }: Customer) {
  const window = windows[name];
  if (window === undefined) return nothing;
  const { used, limit, remaining, resetsAt } = window;
  const text =
    limit === null ? `${formatNumber(used)} used` : `${formatNumber(used)} of ${formatNumber(limit)}`;
  return html`<section class="panel limit-meter">
    <h3>${currentTitle(name)}</h3>
    <p class="figure">${text}</p>
    ${usedMeter(window, `${currentTitle(name)}: ${text}`)}
    <p class="quiet">
      ${remaining === null ? nothing : `${formatNumber(remaining)} left.`} Starts again in
      ${formatDuration((Date.parse(resetsAt) - Date.parse(now)) / 1000)}, at
      ${formatTime(resetsAt, { dateStyle: 'time' })}.
    </p>
  </section>`;
}

function services({ services, month }: Usage) {
  if (services.length === 0) return nothing;
  return html`<h2>By service in ${formatMonth(month)}</h2>
    ${table({
      label: 'Use by service',
      headings: ['Service', numeric('Requests'), numeric('Units')],
      rows: services.map(
        ({ service, served, units }) =>
          html`<tr>
            <th scope="row">${service}</th>
            <td class="number">${formatNumber(served)}</td>
            <td class="number">${formatNumber(units)}</td>
          </tr>`,
      ),
    })}`;
}

function byKey(keys: Key[]) {
  const used = keys.filter(({ served, refused }) => served + refused > 0);
  if (used.length === 0) return nothing;
  return html`<h2>By key</h2>
    ${table({
      label: 'Use by key',
      headings: ['Key', numeric('Served'), numeric('Refused')],
      rows: used
        .toSorted((one, other) => other.served - one.served)
        .map(
          ({ name, hint, served, refused }) =>
            html`<tr>
              <th scope="row">${name} <code>${hint}</code></th>
              <td class="number">${formatNumber(served)}</td>
              <td class="number">${formatNumber(refused)}</td>
            </tr>`,
        ),
    })}`;
}

customElements.define('usage-section', UsageSection);
