import { html } from 'lit';
import { ask } from '../../../../browser/elements/confirm-dialog.ts';
import { checkbox, field } from '../../../../browser/elements/fields.ts';
import { notify } from '../../../../browser/elements/notice.ts';
import { formatDuration, formatNumber, sentence } from '../../../../browser/format.ts';
import { byPolicyField, describeValues } from '../../../../limits/setting-fields.ts';
import { api } from '../api.ts';
import { policySentences } from '../policy-text.ts';
import type { BanPolicy, Changed, KeyPlan, Page, SettingState } from '../responses.ts';
import { numberWithin, SettingForm, type TypedSetting } from './setting-form.ts';

type State = SettingState<BanPolicy>;

const policyFields = Object.values(byPolicyField((field, name) => ({ name, ...field })));

/** The ban policy: all of its fields, and what they mean. */
class BanPolicyForm extends SettingForm<BanPolicy, State> {
  override readonly path = '/api/settings/ban-policy';
  override readonly wide = true;
  plans: KeyPlan[] = [];

  override async load() {
    const [, { items }] = await Promise.all([super.load(), api.get<Page<KeyPlan>>('/api/key-plans')]);
    this.plans = items.filter(({ needsOwnLimits }) => !needsOwnLimits);
  }

  describe(policy: BanPolicy) {
    return describeValues(policy);
  }

  valuesOf({ stored, enforced, defaults }: State) {
    const policy = stored ?? enforced[0]?.value ?? defaults;
    return { ...byPolicyField((_, name) => String(policy[name])), enabled: policy.enabled ? 'on' : '' };
  }

  override get canSave() {
    return super.canSave || this.subject?.stored === null;
  }

  async save({ stored }: State, typed: TypedSetting) {
    const body = { policy: policyOf(typed), expected: stored };
    const changed = await api.put<Changed>(this.path, body);
    return ['The ban policy was saved. In force within a second.', changed] as const;
  }

  askToReset({ defaults }: State) {
    ask(this, {
      heading: 'Reset the ban policy?',
      action: 'Reset',
      message: () =>
        html`<p>All fields get their defaults, in force on all gateways within a second:</p>
          ${this.sentences(defaults)}`,
      run: async () => {
        const expected = this.subject?.stored ?? null;
        const { warnings } = await api.post<Changed>(`${this.path}/reset`, { expected });
        notify('The ban policy is the default one again. In force within a second.', warnings);
        this.reset();
        await this.refresher.now();
      },
    });
  }

  sentences(policy: BanPolicy) {
    return policySentences(policy, this.plans).map((sentence) => html`<p>${sentence}</p>`);
  }

  override moreActions() {
    const { subject } = this;
    return html`<button type="button" @click=${() => subject && this.askToReset(subject)}>
      Reset to defaults
    </button>`;
  }

  fields({ defaults }: State, typed: TypedSetting) {
    const isValid = policyFields.every((bounds) => numberWithin(typed[bounds.name], bounds) !== undefined);
    return html`${checkbox('Ban keys that go on after 429', 'enabled', { checked: typed['enabled'] === 'on' })}
      <div class="fields policy">
        ${policyFields.map(({ name, label, meaning, min, max, decimals }) => {
          const value = typed[name] ?? '';
          const duration =
            name.endsWith('Seconds') && Number(value) >= 60 ? ` (${formatDuration(Number(value))})` : '';
          return html`<div>
            ${field(`${label}${duration}`, name, {
              type: 'number',
              required: true,
              min,
              max,
              step: decimals ? '0.001' : '1',
              describedBy: `about-${name}`,
              value,
            })}
            <p class="hint" id=${`about-${name}`}>
              ${sentence(meaning)} Default ${formatNumber(defaults[name])}.
            </p>
          </div>`;
        })}
      </div>
      <div class="panel" aria-live="polite">
        ${isValid ? this.sentences(policyOf(typed)) : html`<p class="quiet">Some numbers are out of range.</p>`}
      </div>`;
  }
}

const policyOf = (typed: TypedSetting): BanPolicy => ({
  ...byPolicyField((_, name) => Number(typed[name])),
  enabled: typed['enabled'] === 'on',
});

customElements.define('ban-policy-form', BanPolicyForm);
