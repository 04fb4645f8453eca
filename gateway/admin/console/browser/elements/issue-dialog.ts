import { html } from 'lit';
import { choice, field } from '../../../../browser/elements/fields.ts';
import { formKeyFields, keyFields } from '../../../../browser/elements/key-fields.ts';
import { formTexts, type FormTexts } from '../../../../browser/form-text.ts';
import { knownIn, lackingWindows } from '../../../../limits/limits.ts';
import { api } from '../api.ts';
import { formLimits, limitFields } from '../limit-fields.ts';
import type { IssuedKey, KeyPlan, Page } from '../responses.ts';
import { NewKeyDialog } from './new-key-dialog.ts';

/** Issues a key. */
export class IssueDialog extends NewKeyDialog {
  override heading = 'Issue a key';
  override action = 'Issue the key';
  plans: KeyPlan[] = [];
  plan = 'free';
  form: FormTexts = () => '';

  override connectedCallback() {
    super.connectedCallback();
    void this.loadPlans();
  }

  async loadPlans() {
    try {
      this.plans = (await api.get<Page<KeyPlan>>('/api/key-plans')).items;
    } catch (error) {
      this.failure = error;
    }
  }

  override input(event: Event) {
    this.form = formTexts(event);
    this.plan = this.form('plan') || this.plan;
  }

  override create(form: FormTexts) {
    return api.post<IssuedKey>('/api/keys', {
      name: form('name'),
      plan: form('plan'),
      ...formKeyFields(form),
      ...formLimits(form),
    });
  }

  override fields() {
    const { plan, plans } = this;
    const chosen = plans.find(({ name }) => name === plan);
    const needsLimits = chosen?.needsOwnLimits === true;
    return html`${field('Name of the customer', 'name', { required: true, autofocus: true })}
      ${
        plans.length === 0
          ? choice('Plan', 'plan', [['', this.failure === undefined ? 'Loading…' : 'Not loaded']], {
              required: true,
            })
          : choice('Plan', 'plan', named(plans), { value: plan, required: true })
      }
      <div class="fields">
        ${limitFields({
          label: 'Own limit',
          lacking: needsLimits ? lackingWindows(undefined, knownIn(formLimits(this.form))) : [],
          placeholder: (name) =>
            chosen === undefined || needsLimits ? '' : `${chosen[name] ?? 'no limit'}, as its plan`,
        })}
        ${keyFields()}
      </div>
      <p class="quiet">
        ${
          needsLimits
            ? `Keys on ${plan} need a limit of their own.`
            : 'Empty limits are those of the plan. Without a date the key does not expire, and without scopes it may call all operations.'
        }
      </p>`;
  }
}

const named = (plans: readonly KeyPlan[]) => plans.map(({ name }) => [name, name] as const);

customElements.define('issue-dialog', IssueDialog);
