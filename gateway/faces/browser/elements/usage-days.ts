import './time-chart.ts';
import { html } from 'lit';
import type { DayUsage } from '../../../quota/usage-days.ts';
import { formatNumber } from '../format.ts';

/** Chart and sums of the use by day. @param days oldest first */
export function usageDays(days: readonly DayUsage[]) {
  const sum = (use: (day: DayUsage) => number) => days.reduce((total, day) => total + use(day), 0);
  const served = sum((day) => day.served);
  const refused = sum((day) => day.refused);
  const units = sum((day) => day.units ?? day.served);
  const cost = units === served ? '' : ` at a cost of ${formatNumber(units)}`;
  return html`<h2>The last ${days.length} days</h2>
    ${
      served + refused === 0
        ? html`<p class="quiet">No requests on these days.</p>`
        : html`<time-chart
              heading="Requests a day (UTC)"
              kind="bars"
              unit="utc-day"
              .times=${days.map(({ date }) => Date.parse(date) / 1000)}
              .series=${servedAndRefused(days)}
            ></time-chart>
            <p>${formatNumber(served)} served${cost}, ${formatNumber(refused)} refused.</p>`
    }`;
}

/** Series of a chart of use. */
export const servedAndRefused = (uses: readonly Pick<DayUsage, 'served' | 'refused'>[]) => [
  { label: 'served', tone: 'good', values: uses.map(({ served }) => served) },
  { label: 'refused', tone: 'caution', values: uses.map(({ refused }) => refused) },
];
