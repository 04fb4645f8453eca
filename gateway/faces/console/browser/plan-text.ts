import { html, nothing } from 'lit';
import { shadowLimitsIn, type ByPlanField } from '../../../limits/shadow-limits.ts';
import { windows, type ByWindow } from '../../../limits/windows.ts';
import { formatNumber } from '../../browser/format.ts';

/** @param limits as in "60 a minute, 1,000 a day" */
export function limitsText(limits: ByWindow<number | null>, none = 'no valid limits') {
  const parts = windows.flatMap(({ name, each }) => {
    const limit = limits[name] ?? null;
    return limit === null ? [] : [`${formatNumber(limit)} ${each}`];
  });
  return parts.join(', ') || none;
}

export const shadowText = (plan: ByPlanField<number | null>) => limitsText(shadowLimitsIn(plan), 'none');

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
