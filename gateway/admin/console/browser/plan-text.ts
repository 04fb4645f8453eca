import { html, nothing } from 'lit';
import { formatNumber } from '../../../browser/format.ts';
import { shadowLimitsIn, type ByPlanField } from '../../../limits/shadow-limits.ts';
import { windows, type ByWindow } from '../../../limits/windows.ts';
import type { Plan } from './responses.ts';

/** @param limits as in "60 a minute, 1,000 a day" */
export function limitsText(limits: ByWindow<number | null>, none = 'no valid limits') {
  const parts = windows.flatMap(({ name, each }) => {
    const limit = limits[name] ?? null;
    return limit === null ? [] : [`${formatNumber(limit)} ${each}`];
  });
  return parts.join(', ') || none;
}

export const shadowText = (plan: ByPlanField<number | null>) => limitsText(shadowLimitsIn(plan), 'none');

/** Time after a change in which gateways take it over, and say so. */
const settlingMs = 3000;

/** Whether a setting was changed a moment ago. */
export class Settling {
  #changedAt = -Infinity;

  begin() {
    this.#changedAt = performance.now();
  }

  get isOn() {
    return performance.now() < this.#changedAt + settlingMs;
  }
}

/**
 * Which gateways enforce what is stored.
 * @param running gateways that run
 * @param isSettling whether it was changed a moment ago
 */
export function enforcedText(
  { gateways, enforced }: Pick<Plan, 'gateways' | 'enforced'>,
  running: number,
  isSettling = false,
) {
  if (running === 0) return html`<span class="quiet">no gateway runs</span>`;
  if (enforced.length === 0) {
    return gateways === 0
      ? html`<span class="quiet">by none yet</span>`
      : html`by ${formatNumber(gateways)} of ${formatNumber(running)}`;
  }
  if (isSettling) return html`<span class="quiet">taking effect…</span>`;
  return html`${gateways === 0 ? nothing : html`by ${formatNumber(gateways)} of ${formatNumber(running)}; `}<span
      class="failure-text"
      >${enforced.map(
        (other, index) =>
          `${index === 0 ? '' : '; '}${limitsText(other)} by ${formatNumber(other.gateways)} of ${formatNumber(running)}`,
      )}</span
    >`;
}

/** @param issues of values that were edited by hand */
export const issueList = (issues: string[]) =>
  issues.length === 0
    ? nothing
    : html`<div class="panel failure" role="alert">
        <p><strong>What is stored in Redis is invalid</strong>, so gateways keep the last valid values:</p>
        <ul>
          ${issues.map((issue) => html`<li>${issue}</li>`)}
        </ul>
      </div>`;
