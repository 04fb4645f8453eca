import './time-chart.ts';
import { html, nothing } from 'lit';
import type { WindowView } from '../../../control/customers/customer-limits.ts';
import { currentTitle, windowNames, type ByWindow, type WindowName } from '../../../limits/windows.ts';
import type { Failure } from '../../../quota/failures.ts';
import type { DayUsage } from '../../../quota/usage.ts';
import { formatDuration, formatNumber, formatTime } from '../format.ts';
import { sinceFirst } from './sparkline.ts';
import { listTable } from './table.ts';

/** Share of a limit from which on it is nearly used up. */
const nearShare = 0.8;

/** What is used, such as "59 of 60". */
export const amountOf = ({ used, limit }: Pick<WindowView, 'used' | 'limit'>) =>
  limit === null ? formatNumber(used) : `${formatNumber(used)} of ${formatNumber(limit)}`;

/**
 * A meter for each window with a limit, with its figures, and when it ends. Without a known limit, the bar is full.
 * @param sourceOf where the limit comes from
 */
export const windowMeters = (
  { windows, now }: { windows: ByWindow<WindowView>; now: string },
  sourceOf: (name: WindowName) => unknown = () => nothing,
) =>
  html`<div class="panels grid">
    ${windowNames.map((name) => windows[name] && windowMeter(name, windows[name], now, sourceOf(name)))}
  </div>`;

function windowMeter(name: WindowName, window: WindowView, now: string, source: unknown) {
  const { used, limit, remaining, resetsAt } = window;
  const max = limit ?? Math.max(used, 1);
  return html`<section class="panel reading">
    <h3>${currentTitle(name)}</h3>
    <strong class="figure">${amountOf(window)} used</strong>
    <meter
      min="0"
      max=${max}
      low=${max * nearShare}
      high=${max - 0.5}
      optimum="0"
      .value=${Math.min(used, max)}
      aria-label=${`${currentTitle(name)}: ${amountOf(window)} used`}
    ></meter>
    <p class="quiet">
      ${remaining === null ? 'The limit is not known.' : `${formatNumber(remaining)} left.`} Resets in
      ${formatDuration((Date.parse(resetsAt) - Date.parse(now)) / 1000)}, at
      ${formatTime(resetsAt, { dateStyle: 'time' })}.
    </p>
    ${source}
  </section>`;
}

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
        : html`<p>${formatNumber(served)} served${cost}, ${formatNumber(refused)} refused.</p>
            <time-chart
              heading="Requests a day (UTC)"
              unit="utc-day"
              .times=${days.map(({ date }) => Date.parse(date) / 1000)}
              .series=${servedAndRefused(days)}
            ></time-chart>`
    }`;
}

/** Series of a chart of use. */
export function servedAndRefused(uses: readonly Pick<DayUsage, 'served' | 'refused'>[]) {
  const counts = uses.map(({ served, refused }) => served + refused);
  return (['served', 'refused'] as const).map((label) => {
    const values = uses.map((use) => use[label]);
    return { label, tone: label === 'served' ? 'good' : 'caution', values: sinceFirst(values, counts) };
  });
}

/** Failed requests, newest first. @param keyOf names the key of one. @param about what links a code to what it means */
export const failedRequests = (
  failures: readonly Failure[],
  keyOf: (failure: Failure) => unknown,
  about: (code: string) => unknown = (code) => code,
) =>
  html`<h2>Last failed requests</h2>
    <p class="quiet">Up to five of each error, from the last seven days. 429 means refused by a limit.</p>
    ${listTable(
      'Last failed requests',
      failures,
      [
        ['Time', ({ at }) => formatTime(at)],
        ['Request', ({ method, route }) => `${method} ${route === 'unmatched' ? '(unknown path)' : route}`],
        ['Error', ({ status, code }) => html`${status} ${code === null ? '' : about(code)}`],
        ['Key', keyOf],
        ['Request id', ({ requestId }) => html`<code>${requestId}</code>`, 'minor'],
      ],
      { headed: false, none: 'None.' },
    )}`;
