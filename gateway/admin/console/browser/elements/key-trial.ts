import { html, nothing } from 'lit';
import { ActingElement } from '../../../../browser/elements/acting-element.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { formatNumber, formatShare, formatTime, plural } from '../../../../browser/format.ts';
import { fieldOf, windowNames } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { apiPath, planLink } from '../key.ts';
import { limitsText } from '../plan-text.ts';
import type { ChangedKey, KeyDetail } from '../responses.ts';
import { session } from '../session.ts';

/** Limits on trial of a customer, or of a key of one: what they would have refused so far. Dispatches `changed` with the key as it is then. */
class KeyTrialPanel extends ActingElement {
  key: Pick<KeyDetail, 'id' | 'plan' | 'trial'> | undefined;

  async make(change: () => Promise<ChangedKey>, done: string) {
    await this.act(async () => this.announce(done, await change()));
  }

  override render() {
    const trial = this.key?.trial;
    if (this.key === undefined || trial === null || trial === undefined) return nothing;
    const { id, plan } = this.key;
    const path = `${apiPath(id)}/trial`;
    const { from, since, requests } = trial;
    const refusals = windowNames.flatMap((name) => {
      const count = trial[fieldOf('refused', name)];
      return count === undefined ? [] : [{ name, count }];
    });
    const refused = refusals.reduce((sum, { count }) => sum + count, 0);
    const share = requests === 0 ? nothing : html` (${formatShare(refused / requests)})`;
    return html`<h2>Limits on trial</h2>
      <div class="panel">
        <p>
          ${limitsText(trial)} have been on trial since ${formatTime(since)}. They would have refused
          ${formatNumber(refused)} of ${plural(requests, 'request')}${share}:
          ${refusals.map(({ name, count }) => `${formatNumber(count)} for the ${name}`).join(', ')}.
        </p>
        ${
          from === 'plan'
            ? html`<p class="quiet">This is the trial of its plan ${planLink(plan)}.</p>`
            : nothing
        }
        ${inlineFailure(this.failure)}
        ${
          from === 'key' && session.isOperator
            ? html`<div class="actions">
                <button
                  type="button"
                  class="wa-brand"
                  ?disabled=${this.busy}
                  @click=${() => this.make(() => api.post(`${path}/apply`), 'The limits on trial are enforced now')}
                >
                  Enforce them
                </button>
                <button
                  type="button"
                  ?disabled=${this.busy}
                  @click=${() => this.make(() => api.delete(path), 'The trial has ended')}
                >
                  End the trial
                </button>
              </div>`
            : nothing
        }
      </div>`;
  }
}

customElements.define('key-trial', KeyTrialPanel);
