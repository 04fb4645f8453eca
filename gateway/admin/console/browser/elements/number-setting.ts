import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formatNumber } from '../format.ts';
import { Refresher } from '../refresher.ts';
import type { Changed, NumberSettingState } from '../responses.ts';
import { session } from '../session.ts';
import { ActingElement } from './acting-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';
import { saveActions } from './save-actions.ts';
import { settingState } from './setting-state.ts';

/** A setting that is one number, with what it does before it is saved. */
class NumberSetting extends ActingElement {
  static override properties = {
    path: {},
    field: {},
    label: {},
    unit: {},
    effect: { attribute: false },
    state: { state: true },
    typed: { state: true },
    seen: { state: true },
  };

  /** Of the API. */
  path = '';
  field = '';
  label = '';
  unit = '';
  /** What a value does. */
  effect: (value: number) => string = () => '';
  state: NumberSettingState | undefined;
  typed: string | undefined;
  /** Stored value when the person began to type. */
  seen: number | null | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => (this.state?.adjustment?.outcome === null ? 1000 : 5000),
  );

  async load() {
    this.state = await api.get<NumberSettingState>(this.path);
  }

  get stored() {
    return this.state?.stored?.[this.field] ?? null;
  }

  get wanted() {
    const { typed, state } = this;
    if (typed === undefined || state === undefined || !/^\d{1,10}$/.test(typed)) return undefined;
    const value = Number(typed);
    return value >= state.bounds.min && value <= state.bounds.max ? value : undefined;
  }

  type({ target }: Event) {
    if (!(target instanceof HTMLInputElement)) return;
    if (this.typed === undefined) this.seen = this.stored;
    this.typed = target.value;
    this.failure = undefined;
  }

  discard() {
    this.typed = undefined;
    this.seen = undefined;
    this.failure = undefined;
  }

  async save(event: SubmitEvent) {
    event.preventDefault();
    const { wanted, field } = this;
    if (wanted === undefined) return;
    await this.act(async () => {
      const body = { [field]: wanted, expected: { [field]: this.seen ?? null } };
      const { warnings } = await api.put<Changed>(this.path, body);
      notify(`${this.label}: ${formatNumber(wanted)} ${this.unit}, in force within a second.`, warnings);
      this.discard();
    });
    await this.refresher.now();
    // What was typed stays, and can be saved over what is there now.
    if (this.hasConflict) this.seen = this.stored;
  }

  override render() {
    const { state, stored, wanted, unit } = this;
    if (state === undefined) return this.refresher.placeholder();
    const isChanged = wanted !== undefined && wanted !== stored;
    const { bounds, defaults, adjustment } = state;
    const text = this.typed ?? String(stored ?? '');
    const shown = wanted ?? stored;
    return html`${inlineFailure(this.refresher.failure)}
      ${settingState(state, (value) => `${formatNumber(value[this.field] ?? 0)} ${unit}`)}
      <form class="narrow" @submit=${this.save}>
        <fieldset ?disabled=${!session.isOperator}>
          <label
            >${this.label}, ${unit}
            <input
              type="number"
              inputmode="numeric"
              required
              min=${bounds.min}
              max=${bounds.max}
              .value=${text}
              @input=${this.type}
            />
          </label>
          <p class="hint">
            Default ${formatNumber(defaults[this.field] ?? 0)}; from ${formatNumber(bounds.min)} to
            ${formatNumber(bounds.max)}.
          </p>
          <p aria-live="polite">${shown === null ? nothing : this.effect(shown)}</p>
          ${inlineFailure(this.failure)}
          ${saveActions({
            busy: this.busy,
            canSave: isChanged,
            canDiscard: this.typed !== undefined,
            discard: () => this.discard(),
          })}
        </fieldset>
      </form>
      ${adjustment ? adjustmentView(adjustment) : nothing}`;
  }
}

function adjustmentView({ scanned, total, outcome }: NonNullable<NumberSettingState['adjustment']>) {
  switch (outcome) {
    case null:
      return html`<p role="status">
        Giving what is stored its new expiry: ${formatNumber(scanned)} of ${formatNumber(total)} keys of
        Redis…
      </p>`;
    case 'done':
      return html`<p class="quiet" role="status">What was stored already has its new expiry.</p>`;
    default:
      return html`<p class="failure-text" role="status">
        What was stored already did not all get its new expiry: save the same number again.
      </p>`;
  }
}

customElements.define('number-setting', NumberSetting);
