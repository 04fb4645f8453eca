import { html, nothing } from 'lit';
import { count, listTable } from '../../browser/elements/table.ts';
import { windowMeter } from '../../browser/elements/window-meter.ts';
import { formatMonth } from '../../browser/format.ts';
import { windowNames } from '../../limits/windows.ts';
import type { Customer, Key, Usage } from './responses.ts';
import { usageChart } from './usage-chart.ts';

/** Plan, what is used of its limits, and what was used by day, service and key. */
export const usageSection = ({ plan, windows, now }: Customer, usage: Usage, keys: Key[]) =>
  html`<p>Plan: <strong>${plan}</strong></p>
    <h2>Use now</h2>
    <div class="panels">${windowNames.map((name) => windowMeter(name, windows[name], now))}</div>
    ${usage.days.length === 0 ? nothing : usageChart(usage.days)} ${services(usage)} ${byKey(keys)}`;

function services({ services, month }: Usage) {
  if (services.length === 0) return nothing;
  return html`<h2>By service in ${formatMonth(month)}</h2>
    ${listTable(
      'Use by service',
      services,
      [
        ['Service', ({ service }) => service],
        count('Requests', ({ served }) => served),
        count('Units', ({ units }) => units),
      ],
      { region: '' },
    )}`;
}

function byKey(keys: Key[]) {
  const used = keys.filter(({ served, refused }) => served + refused > 0);
  if (used.length === 0) return nothing;
  return html`<h2>By key</h2>
    ${listTable(
      'Use by key',
      used.toSorted((one, other) => other.served - one.served),
      [
        ['Key', ({ name, hint }) => html`${name} <code>${hint}</code>`],
        count('Served', ({ served }) => served),
        count('Refused', ({ refused }) => refused),
      ],
      { region: '' },
    )}`;
}
