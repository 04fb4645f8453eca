import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import type { Changed } from '../responses.ts';
import { router } from '../router.ts';
import { url } from '../url.ts';
import { DialogElement } from './dialog-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';

/** Asks for the name and the limits of a new plan, makes it, and shows it. */
export class NewPlanDialog extends DialogElement {
  static override properties = {
    questioned: { state: true },
  };

  /** Whether the day limit is below the minute limit. */
  questioned = false;

  override show() {
    this.questioned = false;
    super.show();
  }

  changed(event: Event) {
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const { minute, day } = valuesOf(event.currentTarget);
    this.questioned = minute > 0 && day > 0 && day < minute;
  }

  async submit(event: SubmitEvent) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const { name, ...limits } = valuesOf(event.target);
    await this.act(async () => {
      const { warnings } = await api.put<Changed>(url`/api/plans/${name}`, limits);
      this.open = false;
      notify(`The plan ${name} was made. Keys can be moved to it now.`, warnings);
      router.navigate(url`/console/plans/${name}`);
    });
  }

  override render() {
    if (!this.open) return nothing;
    return html`<wa-dialog label="New plan" open @wa-after-hide=${this.closed}>
      <form @submit=${this.submit} @input=${this.changed}>
        <label
          >Name
          <input
            name="name"
            required
            autofocus
            autocomplete="off"
            maxlength="32"
            pattern="[a-z][a-z0-9\\-]*"
            title="Lower-case letters, digits and dashes, beginning with a letter"
          />
        </label>
        <p class="hint">Lower-case letters, digits and dashes. It cannot be changed later.</p>
        <div class="fields">
          <label
            >Requests a minute <input name="minute" type="number" min="1" max="1000000000" required
          /></label>
          <label>Requests a day <input name="day" type="number" min="1" max="1000000000" required /></label>
        </div>
        ${
          this.questioned
            ? html`<label class="check"
                ><input type="checkbox" name="confirmed" required /> The day limit is less than the minute
                limit, so the minute limit is never reached. I mean that.</label
              >`
            : nothing
        }
        ${inlineFailure(this.failure)}
        <div class="dialog-actions">
          <button type="button" class="wa-plain" @click=${() => (this.open = false)}>Cancel</button>
          <button class="wa-brand" ?disabled=${this.busy}>${this.busy ? 'Working…' : 'Make the plan'}</button>
        </div>
      </form>
    </wa-dialog>`;
  }
}

function valuesOf(form: HTMLFormElement) {
  const data = new FormData(form);
  return {
    name: formText(data, 'name'),
    minute: Number(data.get('minute')),
    day: Number(data.get('day')),
    confirmed: data.get('confirmed') !== null,
  };
}

customElements.define('new-plan-dialog', NewPlanDialog);
