import '../elements/ban-policy-form.ts';
import { html, nothing } from 'lit';
import { field } from '../../../../browser/elements/fields.ts';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { formatNumber, plural } from '../../../../browser/format.ts';
import { anonymousField, anonymousWindow, retentionField } from '../../../../limits/setting-fields.ts';
import { api } from '../api.ts';
import { numberWithin, SettingForm, type TypedSetting } from '../elements/setting-form.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import type { Changed, NumberSettingState } from '../responses.ts';

const dayMs = 86_400_000;
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** Settings of the whole fleet. Each is saved on its own. */
class PageSettings extends LightElement {
  override render() {
    return html`<h1>Settings</h1>
      ${viewerNote()}
      <h2>Bans</h2>
      <ban-policy-form></ban-policy-form>
      <h2>Requests without a valid key</h2>
      <number-setting
        path="/api/settings/anonymous"
        field=${anonymousWindow}
        .words=${anonymousField}
        .effect=${anonymousEffect}
      ></number-setting>
      <h2>Record of use</h2>
      <number-setting
        path="/api/settings/usage"
        field="retentionDays"
        .words=${retentionField}
        .effect=${retentionEffect}
      ></number-setting>`;
  }
}

const anonymousEffect = (minute: number) =>
  `Each address may send ${plural(minute, 'request')} a minute without a valid key, such as with a mistyped one; further ones get 429. Requests with a valid key are not concerned.`;

function retentionEffect(retentionDays: number) {
  const first = new Date(Date.now() - retentionDays * dayMs);
  return `The use of each key is kept for ${formatNumber(retentionDays)} days: today from ${days.format(first)} on. What is older is deleted, and cannot be brought back.`;
}

customElements.define('page-settings', PageSettings);

/** A setting that is one number. */
class NumberSetting extends SettingForm<Record<string, number>, NumberSettingState> {
  static override properties = { path: {}, field: {} };

  path = '';
  field = '';
  words = anonymousField;
  /** What a value does. */
  effect: (value: number) => string = () => '';

  override get pauseMs() {
    return this.subject?.adjustment?.outcome === null ? 1000 : super.pauseMs;
  }

  describe(value: Record<string, number>) {
    return `${formatNumber(value[this.field] ?? 0)} ${this.words.unit}`;
  }

  valuesOf({ stored }: NumberSettingState) {
    return { value: String(stored?.[this.field] ?? '') };
  }

  get wanted() {
    const { subject, typed } = this;
    return subject && numberWithin(typed?.['value'], this.words);
  }

  override get canSave() {
    return this.wanted !== undefined || this.subject?.adjustment?.outcome === 'failed';
  }

  async save({ stored }: NumberSettingState) {
    const { wanted = stored?.[this.field] ?? 0, words } = this;
    const body = { [this.field]: wanted, expected: { [this.field]: stored?.[this.field] ?? null } };
    const changed = await api.put<Changed>(this.path, body);
    return [
      `${words.label}: ${this.describe({ [this.field]: wanted })}, in force within a second.`,
      changed,
    ] as const;
  }

  fields({ stored, defaults, adjustment }: NumberSettingState, { value }: TypedSetting) {
    const shown = this.wanted ?? stored?.[this.field];
    const { label, unit, min, max } = this.words;
    return html`${field(`${label}, ${unit}`, 'value', { type: 'number', required: true, min, max, value })}
      <p class="hint">
        Default ${formatNumber(defaults[this.field] ?? 0)}; from ${formatNumber(min)} to ${formatNumber(max)}.
      </p>
      <p aria-live="polite">${shown === undefined ? nothing : this.effect(shown)}</p>
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
