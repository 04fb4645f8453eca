import { html, nothing } from 'lit';
import { describeLimits, shadowLimitsIn, type ByPlanField } from '../../../limits/limits.ts';
import type { ByWindow } from '../../../limits/windows.ts';
import { formatNumber, plural } from '../../browser/format.ts';

/**
 * Which gateways enforce what is stored.
 * @param enforced what others enforce
 * @param running gateways that run
 */
export function enforcedText<Other extends { gateways: number }>(
  { gateways, enforced }: { gateways: number; enforced: readonly Other[] },
  running: number,
  describe: (other: Other) => string,
) {
  const on = (count: number) =>
    count === running ? 'on all gateways' : `on ${formatNumber(count)} of ${plural(running, 'gateway')}`;
  if (running === 0) return html`<span class="quiet">no gateway runs</span>`;
  if (enforced.length === 0) {
    return gateways === 0 ? html`<span class="quiet">on no gateway yet</span>` : on(gateways);
  }
  const others = enforced.map((other) => `${describe(other)} ${on(other.gateways)}`).join('; ');
  return gateways === 0 ? others : `${on(gateways)}; ${others}`;
}

/** @param limits as in "60 a minute, 1,000 a day" */
export const limitsText = (limits: ByWindow<number | null>, none = 'no valid limits') =>
  describeLimits(limits, none, formatNumber);

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
