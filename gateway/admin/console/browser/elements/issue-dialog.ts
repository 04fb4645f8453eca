import { html } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { formLimits, limitFields } from '../limit-fields.ts';
import type { IssuedKey, KeyPlan, Page } from '../responses.ts';
import { formScopes, scopesField } from '../scopes-field.ts';
import { NewKeyDialog } from './new-key-dialog.ts';

/** Issues a key. */
export class IssueDialog extends NewKeyDialog {
  static override properties = { plans: { state: true }, plan: { state: true } };

  plans: KeyPlan[] = [];
  plan = 'free';

  override show() {
    super.show();
    void this.loadPlans();
  }

  async loadPlans() {
    try {
      this.plans = (await api.get<Page<KeyPlan>>('/api/key-plans')).items;
    } catch (error) {
      this.failure = error;
    }
  }

  override get heading() {
    return 'Issue a key';
  }

  override get action() {
    return 'Issue the key';
  }

  override create(form: FormData) {
    return api.post<IssuedKey>('/api/keys', {
      name: formText(form, 'name'),
      plan: formText(form, 'plan'),
      expiresAt: formText(form, 'expires') || null,
      scopes: formScopes(form),
      ...formLimits(form),
    });
  }

  override fields() {
    const chosen = this.plans.find(({ name }) => name === this.plan);
    const needsLimits = chosen?.needsOwnLimits === true;
    return html`<label>Name of the customer <input name="name" required maxlength="100" autofocus /></label>
      <label
        >Plan
        <select
          name="plan"
          required
          @change=${({ target }: Event) => {
            if (target instanceof HTMLSelectElement) this.plan = target.value;
          }}
        >
          ${
            this.plans.length === 0
              ? html`<option value="">${this.failure === undefined ? 'Loading…' : 'Not loaded'}</option>`
              : this.plans.map(
                  ({ name }) => html`<option value=${name} ?selected=${name === this.plan}>${name}</option>`,
                )
          }
        </select></label
      >
      <div class="fields">
        ${limitFields({
          label: 'Own limit',
          required: needsLimits,
          placeholder: (name) => likePlan(chosen?.[name]),
        })}
        <label>Expires at the beginning of (UTC) <input name="expires" type="date" /></label>
        ${scopesField(null)}
      </div>
      <p class="quiet">
        ${
          needsLimits
            ? `Keys on ${this.plan} need limits of their own.`
            : 'Empty limits are those of the plan. Without a date the key does not expire, and without scopes it may call all operations.'
        }
      </p>`;
  }
}

/** @param limit of the plan */
const likePlan = (limit: number | null | undefined) =>
  limit === null || limit === undefined ? '' : `${limit}, as its plan`;

customElements.define('issue-dialog', IssueDialog);
