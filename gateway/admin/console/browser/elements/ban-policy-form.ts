import './confirm-dialog.ts';
import { html } from 'lit';
import { api } from '../api.ts';
import { formatDuration, formatNumber } from '../format.ts';
import { policyFields, policySentences } from '../policy-text.ts';
import { Refresher } from '../refresher.ts';
import type { BanPolicy, BanPolicyState, Changed, KeyPlan, Page } from '../responses.ts';
import { session } from '../session.ts';
import { ActingElement } from './acting-element.ts';
import { showDialog } from './dialog-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';
import { saveActions } from './save-actions.ts';
import { settingState } from './setting-state.ts';

const path = '/api/settings/ban-policy';

/** The ban policy: all of its fields, what they mean, and what the policy does, before it is saved. */
class BanPolicyForm extends ActingElement {
  static override properties = {
    state: { state: true },
    plans: { state: true },
    typed: { state: true },
  };

  state: BanPolicyState | undefined;
  plans: KeyPlan[] = [];
  /** What was typed, and the policy at which that began. */
  typed: { policy: BanPolicy; seen: BanPolicy | null } | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => 5000,
  );

  async load() {
    const [state, { items }] = await Promise.all([
      api.get<BanPolicyState>(path),
      api.get<Page<KeyPlan>>('/api/key-plans'),
    ]);
    this.state = state;
    this.plans = items.filter(({ needsOwnLimits }) => !needsOwnLimits);
  }

  /** What the form shows. */
  shown({ stored, enforced, defaults }: BanPolicyState) {
    return this.typed?.policy ?? stored ?? enforced[0]?.value ?? defaults;
  }

  type(event: Event) {
    if (!(event.currentTarget instanceof HTMLFormElement) || this.state === undefined) return;
    const data = new FormData(event.currentTarget);
    const numbers = policyFields.map(({ name }) => [name, Number(data.get(name))]);
    const policy = {
      ...this.state.defaults,
      ...Object.fromEntries(numbers),
      enabled: data.get('enabled') !== null,
    };
    this.typed = { policy, seen: this.typed === undefined ? this.state.stored : this.typed.seen };
    this.failure = undefined;
  }

  discard() {
    this.typed = undefined;
    this.failure = undefined;
  }

  async save(event: SubmitEvent) {
    event.preventDefault();
    const { state } = this;
    if (state === undefined) return;
    const typed = this.typed ?? { policy: this.shown(state), seen: state.stored };
    await this.act(async () => {
      const body = { policy: typed.policy, expected: typed.seen };
      const { warnings } = await api.put<Changed>(path, body);
      notify('The ban policy was saved. In force within a second.', warnings);
      this.typed = undefined;
    });
    await this.refresher.now();
    // What was typed stays, and can be saved over what is there now.
    if (this.hasConflict && this.typed !== undefined)
      this.typed = { ...this.typed, seen: this.state?.stored ?? null };
  }

  async reset() {
    const { warnings } = await api.post<Changed>(`${path}/reset`, { expected: this.state?.stored ?? null });
    notify('The ban policy is the default one again. In force within a second.', warnings);
    this.discard();
    await this.refresher.now();
  }

  override render() {
    const { state } = this;
    if (state === undefined) return this.refresher.placeholder();
    const policy = this.shown(state);
    const isValid = policyFields.every(({ name }) => isWithin(policy[name], state.bounds[name]));
    return html`${inlineFailure(this.refresher.failure)} ${settingState(state, describePolicy)}
      <form @submit=${this.save} @input=${this.type}>
        <fieldset ?disabled=${!session.isOperator}>
          <label class="check"
            ><input type="checkbox" name="enabled" .checked=${policy.enabled} /> Ban keys that go on after
            429</label
          >
          <div class="fields policy">${policyFields.map((field) => this.field(field, policy, state))}</div>
          <div class="panel" aria-live="polite">
            ${isValid ? policySentences(policy, this.plans).map((sentence) => html`<p>${sentence}</p>`) : html`<p class="quiet">Some numbers are out of range.</p>`}
          </div>
          ${inlineFailure(this.failure)}
          ${saveActions({
            busy: this.busy,
            canSave: this.typed !== undefined || state.stored === null,
            canDiscard: this.typed !== undefined,
            discard: () => this.discard(),
            more: html`<button type="button" @click=${() => showDialog(this, 'confirm-dialog')}>
              Reset to defaults
            </button>`,
          })}
        </fieldset>
      </form>
      <confirm-dialog
        heading="Reset the ban policy?"
        action="Reset"
        .message=${html`<p>All fields get their defaults, in force on all gateways within a second:</p>
          ${policySentences(state.defaults, this.plans).map((sentence) => html`<p>${sentence}</p>`)}`}
        .run=${() => this.reset()}
      ></confirm-dialog>`;
  }

  field(
    { name, label, unit, meaning }: (typeof policyFields)[number],
    policy: BanPolicy,
    { bounds, defaults }: BanPolicyState,
  ) {
    const { min, max } = bounds[name];
    const value = policy[name];
    const duration = unit === 'seconds' && value >= 60 ? ` (${formatDuration(value)})` : '';
    return html`<div>
      <label
        >${label}, ${unit}${duration}
        <input
          name=${name}
          type="number"
          required
          min=${min}
          max=${max}
          step=${name === 'strikesPerLimit' ? '0.001' : '1'}
          aria-describedby=${`about-${name}`}
          .value=${String(value)}
        />
      </label>
      <p class="hint" id=${`about-${name}`}>${meaning} Default ${formatNumber(defaults[name])}.</p>
    </div>`;
  }
}

const isWithin = (value: number, { min, max }: { min: number; max: number }) => value >= min && value <= max;

const describePolicy = (policy: BanPolicy) =>
  Object.entries(policy)
    .map(([field, value]) => `${field} ${value}`)
    .join(', ');

customElements.define('ban-policy-form', BanPolicyForm);
