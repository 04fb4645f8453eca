import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatNumber } from '../../../browser/format.ts';
import type { Changed } from '../responses.ts';

/** Time after a change in which gateways take it over, and say so. */
const settlingMs = 3000;

/** Shows a setting of the whole fleet, and what gateways enforce of it, more often after a change. */
export abstract class SettlingElement<Content> extends PolledElement<Content> {
  #changedAt = -Infinity;

  get isSettling() {
    return performance.now() < this.#changedAt + settlingMs;
  }

  override get pauseMs() {
    return this.isSettling ? 1000 : 5000;
  }

  override async saved<T>(change: Promise<Changed<T>>, done: string | ((changed: T) => string)) {
    await super.saved(
      change.finally(() => (this.#changedAt = performance.now())),
      done,
    );
  }
}

/**
 * Which gateways enforce what is stored.
 * @param enforced what others enforce
 * @param running gateways that run
 * @param isSettling whether it was changed a moment ago
 */
export function enforcedText<Other extends { gateways: number }>(
  { gateways, enforced }: { gateways: number; enforced: readonly Other[] },
  running: number,
  describe: (other: Other) => string,
  isSettling = false,
) {
  const by = (count: number) => `by ${formatNumber(count)} of ${formatNumber(running)}`;
  if (running === 0) return html`<span class="quiet">no gateway runs</span>`;
  if (enforced.length === 0) {
    return gateways === 0 ? html`<span class="quiet">by none yet</span>` : by(gateways);
  }
  if (isSettling) return html`<span class="quiet">taking effect…</span>`;
  const others = enforced.map((other) => `${describe(other)} ${by(other.gateways)}`).join('; ');
  return html`${gateways === 0 ? nothing : `${by(gateways)}; `}<span class="failure-text">${others}</span>`;
}
