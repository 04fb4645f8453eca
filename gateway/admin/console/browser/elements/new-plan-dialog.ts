import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { doubtText, formLimits, limitFields, withoutNulls } from '../limit-fields.ts';
import type { Changed } from '../responses.ts';
import { router } from '../router.ts';
import { url } from '../url.ts';
import { DialogElement } from './dialog-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';
import { reasonField } from './reason-field.ts';

/** Asks for the name and the limits of a new plan, makes it, and shows it. */
export class NewPlanDialog extends DialogElement {
  static override properties = {
    limits: { state: true },
  };

  limits: ReturnType<typeof formLimits> | undefined;

  override show() {
    this.limits = undefined;
    super.show();
  }

  changed(event: Event) {
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    this.limits = formLimits(new FormData(event.currentTarget));
  }

  async submit(event: SubmitEvent) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    const name = formText(form, 'name');
    const body = { ...withoutNulls(formLimits(form)), confirmed: form.get('confirmed') !== null };
    await this.act(async () => {
      const { warnings } = await api.put<Changed>(url`/api/plans/${name}`, body);
      this.open = false;
      notify(`The plan ${name} was made. Keys can be moved to it now.`, warnings);
      router.navigate(url`/console/plans/${name}`);
    });
  }

  override render() {
    if (!this.open) return nothing;
    const doubts = doubtText(this.limits ?? {});
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
        <div class="fields">${limitFields({ label: 'Requests', required: true })}</div>
        ${
          doubts === ''
            ? nothing
            : html`<label class="check"
                ><input type="checkbox" name="confirmed" required /> ${doubts} I mean that.</label
              >`
        }
        ${reasonField()} ${inlineFailure(this.failure)}
        <div class="dialog-actions">
          <button type="button" class="wa-plain" @click=${() => (this.open = false)}>Cancel</button>
          <button class="wa-brand" ?disabled=${this.busy}>${this.busy ? 'Working…' : 'Make the plan'}</button>
        </div>
      </form>
    </wa-dialog>`;
  }
}

customElements.define('new-plan-dialog', NewPlanDialog);
