import { html, nothing } from 'lit';
import { api, ApiFailure } from '../api.ts';
import { formatNumber } from '../format.ts';
import { Refresher } from '../refresher.ts';
import { session } from '../session.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure, loadFailure, loading } from './page-state.ts';
import { saveActions } from './save-actions.ts';
import { settingState, type SettingState } from './setting-state.ts';

type NumberState = SettingState<Record<string, number>> & {
  defaults: Record<string, number>;
  bounds: { min: number; max: number };
  adjustment?: { scanned: number; total: number; outcome: string | null } | null;
};

/** A setting that is one number, with what it does before it is saved. */
class NumberSetting extends LightElement {
  static override properties = {
    path: {},
    field: {},
    label: {},
    unit: {},
    effect: { attribute: false },
    state: { state: true },
    typed: { state: true },
    seen: { state: true },
    failure: { state: true },
    loadError: { state: true },
    busy: { state: true },
  };

  /** Of the API. */
  path = '';
  field = '';
  label = '';
  unit = '';
  /** What a value does. */
  effect: (value: number) => string = () => '';
  state: NumberState | undefined;
  typed: string | undefined;
  /** Stored value when the person began to type. */
  seen: number | null | undefined;
  failure: unknown;
  loadError: unknown;
  busy = false;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => (this.state?.adjustment?.outcome === null ? 1000 : 5000),
  );

  async load() {
    try {
      this.state = await api.get(this.path);
      this.loadError = undefined;
    } catch (error) {
      this.loadError = error;
    }
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
    if (wanted === undefined || this.busy) return;
    this.busy = true;
    this.failure = undefined;
    try {
      const body = { [field]: wanted, expected: { [field]: this.seen ?? null } };
      const { warnings } = await api.put(this.path, body);
      notify(`${this.label}: ${formatNumber(wanted)} ${this.unit}, in force within a second.`, warnings);
      this.discard();
    } catch (error) {
      this.failure = error;
      // What was typed stays, and can be saved over what is there now.
      if (error instanceof ApiFailure && error.code === 'conflict') this.seen = undefined;
    } finally {
      this.busy = false;
    }
    await this.refresher.now();
    if (this.typed !== undefined && this.seen === undefined) this.seen = this.stored;
  }

  override render() {
    const { state, stored, wanted, unit } = this;
    if (state === undefined) {
      return this.loadError === undefined
        ? loading()
        : loadFailure(this.loadError, () => void this.refresher.now());
    }
    const isChanged = wanted !== undefined && wanted !== stored;
    const { bounds, defaults, adjustment } = state;
    const text = this.typed ?? String(stored ?? '');
    const shown = wanted ?? stored;
    return html`${inlineFailure(this.loadError)}
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

function adjustmentView({ scanned, total, outcome }: NonNullable<NumberState['adjustment']>) {
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
