import { html, nothing } from 'lit';
import { currentTitle, windowNames, type ByWindow, type WindowName } from '../../../limits/windows.ts';
import { formatDuration, formatNumber, formatTime } from '../format.ts';
import type { WindowView } from '../responses.ts';

/** Share of a limit from which on it is nearly used up. */
const nearShare = 0.8;

/** What is used, such as "59 of 60". */
export const amountOf = ({ used, limit }: Pick<WindowView, 'used' | 'limit'>) =>
  limit === null ? formatNumber(used) : `${formatNumber(used)} of ${formatNumber(limit)}`;

interface Metered {
  windows: ByWindow<WindowView>;
  /** When they were read. */
  now: string;
}

/**
 * A meter for each window with a limit, with its figures, and when it ends. Without a known limit, the bar is full.
 * @param sourceOf where the limit comes from
 */
export const windowMeters = (
  { windows, now }: Metered,
  sourceOf: (name: WindowName) => unknown = () => nothing,
) =>
  html`<div class="panels">
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
