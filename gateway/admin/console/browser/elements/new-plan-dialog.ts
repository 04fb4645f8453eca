import 'webawesome/components/dialog/dialog.js';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { router } from '../router.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';

/** Asks for the name and the limits of a new plan, makes it, and shows it. */
export class NewPlanDialog extends LightElement {
  static override properties = {
    open: { state: true },
    busy: { state: true },
    failure: { state: true },
    questioned: { state: true },
  };

  open = false;
  busy = false;
  failure: unknown;
  /** Whether the day limit is below the minute limit. */
  questioned = false;

  show() {
    this.failure = undefined;
    this.questioned = false;
    this.open = true;
  }

  hidden_(event: Event) {
    if (event.target === event.currentTarget) this.open = false;
  }

  changed(event: Event) {
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const { minute, day } = valuesOf(event.currentTarget);
    this.questioned = minute > 0 && day > 0 && day < minute;
  }

  async submit(event: SubmitEvent) {
    event.preventDefault();
    if (this.busy || !(event.target instanceof HTMLFormElement)) return;
    const { name, minute, day, confirmed } = valuesOf(event.target);
    this.busy = true;
    this.failure = undefined;
    try {
      const { warnings } = await api.put(`/api/plans/${encodeURIComponent(name)}`, {
        minute,
        day,
        confirmed,
      });
      this.open = false;
      notify(`The plan ${name} was made. Keys can be moved to it now.`, warnings);
      router.navigate(`/console/plans/${name}`);
    } catch (error) {
      this.failure = error;
    } finally {
      this.busy = false;
    }
  }

  override render() {
    if (!this.open) return nothing;
    return html`<wa-dialog label="New plan" open @wa-after-hide=${this.hidden_}>
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
