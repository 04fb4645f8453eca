import { html, nothing } from 'lit';
import { defaultLimits, knownIn, lackingWindows } from '../../../../limits/limits.ts';
import { equalPlanLimits, type ByPlanField } from '../../../../limits/shadow-limits.ts';
import { windowOf } from '../../../../limits/windows.ts';
import { LightElement } from '../../../browser/elements/light-element.ts';
import { inlineFailure } from '../../../browser/elements/page-state.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { formatNumber } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { keyLink } from '../key.ts';
import type { Plan, PlanPreview } from '../responses.ts';

/** Time without a key press after which the customers above the typed limits are asked for. */
const typingMs = 250;

/** Which of the busiest customers of a plan are above limits that are typed for it. */
class AboveLimits extends LightElement {
  plan: Plan | undefined;
  limits: ByPlanField<number | null> = {};
  above: PlanPreview['above'] | undefined;
  failure: unknown;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = '';

  override updated() {
    const { plan, limits } = this;
    const asked = JSON.stringify(limits);
    if (plan === undefined || asked === this.#asked) return;
    clearTimeout(this.#timer);
    this.#asked = asked;
    this.above = undefined;
    this.failure = undefined;
    const lacking = lackingWindows(defaultLimits(plan.name), knownIn(limits));
    if (lacking.length > 0 || equalPlanLimits(limits, plan)) return;
    this.#timer = setTimeout(() => void this.preview(plan, asked), typingMs);
  }

  async preview({ name }: Plan, asked: string) {
    try {
      const { above } = await api.post<PlanPreview>(url`/api/plans/${name}/preview`, knownIn(this.limits));
      if (asked === this.#asked) this.above = above;
    } catch (error) {
      this.failure = error;
    }
  }

  override render() {
    return html`<div class="effect" aria-live="polite">${inlineFailure(this.failure)} ${this.table()}</div>`;
  }

  table() {
    const { above } = this;
    if (above === undefined) return nothing;
    if (above.length === 0) {
      return html`<p>None of the busiest customers of the last minute is above these limits.</p>`;
    }
    return listTable(
      'Busiest customers above these limits',
      above,
      [
        ['Above these limits', keyLink],
        count(
          'Used of the limit',
          ({ window, used, limit }) =>
            `${formatNumber(used)} of ${formatNumber(limit)} ${windowOf(window).each}`,
        ),
      ],
      { headed: false, region: '' },
    );
  }
}

customElements.define('above-limits', AboveLimits);
