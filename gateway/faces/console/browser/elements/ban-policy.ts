import { html } from 'lit';
import { byPolicyField, describeValues } from '../../../../limits/setting-fields.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { checkbox, field } from '../../../browser/elements/fields.ts';
import type { FormTexts } from '../../../browser/form-text.ts';
import { formatNumber, sentence } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { fetchPlans } from '../plan-names.ts';
import { policySentences } from '../policy-text.ts';
import type { BanPolicy, Changed, KeyPlan, SettingState } from '../responses.ts';
import { numberWithin, SettingElement } from './setting-element.ts';

type State = SettingState<BanPolicy>;

const policyFields = Object.values(byPolicyField((field, name) => ({ name, ...field })));

/** The ban policy: all of its fields, and what they mean. */
class BanPolicyElement extends SettingElement<BanPolicy, State> {
  override path = '/api/settings/ban-policy';
  plans: KeyPlan[] = [];

  override async read() {
    const [state, plans] = await Promise.all([super.read(), fetchPlans()]);
    this.plans = plans.filter(({ needsOwnLimits }) => !needsOwnLimits);
    return state;
  }

  describe(policy: BanPolicy) {
    return describeValues(policy);
  }

  effect(policy: BanPolicy) {
    return policySentences(policy, this.plans).map((sentence) => html`<p>${sentence}</p>`);
  }

  askToChange({ stored, enforced, defaults }: State) {
    const shown = stored ?? enforced[0]?.value ?? defaults;
    ask(this, {
      heading: 'Ban policy',
      action: 'Save',
      message: (form) => {
        const isValid = policyFields.every((bounds) => numberWithin(form(bounds.name), bounds) !== undefined);
        return html`${checkbox('Ban keys that go on after 429', 'enabled', { checked: shown.enabled })}
          <div class="fields policy">
            ${policyFields.map(({ name, label, meaning, min, max, decimals }) =>
              field(label, name, {
                type: 'number',
                required: true,
                min,
                max,
                step: decimals ? '0.001' : '1',
                value: String(shown[name]),
                hint: `${sentence(meaning)} Default ${formatNumber(defaults[name])}.`,
              }),
            )}
          </div>
          <div class="panel" aria-live="polite">
            ${isValid ? this.effect(policyOf(form)) : html`<p>Some numbers are out of range.</p>`}
          </div>`;
      },
      run: (form) =>
        this.saved(
          api.put<Changed>(this.path, { policy: policyOf(form), expected: stored }),
          'The ban policy was saved. In force within a second.',
        ),
    });
  }

  askToReset({ stored, defaults }: State) {
    ask(this, {
      heading: 'Reset the ban policy?',
      action: 'Reset',
      message: () =>
        html`<p>All fields get their defaults, in force on all gateways within a second:</p>
          ${this.effect(defaults)}`,
      run: () =>
        this.saved(
          api.post<Changed>(`${this.path}/reset`, { expected: stored }),
          'The ban policy is the default one again. In force within a second.',
        ),
    });
  }

  override moreActions(state: State) {
    return html`<button type="button" @click=${() => this.askToReset(state)}>Reset to defaults…</button>`;
  }
}

const policyOf = (form: FormTexts): BanPolicy => ({
  ...byPolicyField((_, name) => Number(form(name))),
  enabled: form('enabled') !== '',
});

customElements.define('ban-policy', BanPolicyElement);
