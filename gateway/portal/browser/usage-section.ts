import { html, nothing } from 'lit';
import { count, listTable } from '../../browser/elements/table.ts';
import { windowMeter } from '../../browser/elements/window-meter.ts';
import { formatMonth } from '../../browser/format.ts';
import { windowNames } from '../../limits/windows.ts';
import type { Customer, Usage } from './responses.ts';
import { usageChart } from './usage-chart.ts';

/** Plan, what is used of its limits, and what was used by day and service. */
export const usageSection = ({ plan, windows, now }: Customer, usage: Usage) =>
  html`<p>Plan: <strong>${plan}</strong></p>
    <h2>Use now</h2>
    <div class="panels">${windowNames.map((name) => windowMeter(name, windows[name], now))}</div>
    ${usage.days.length === 0 ? nothing : usageChart(usage.days)} ${services(usage)}`;

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
