import { html, nothing } from 'lit';
import { anonymousField } from '../../../../limits/setting-fields.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { field } from '../../../browser/elements/fields.ts';
import { formatNumber } from '../../../browser/format.ts';
import { api } from '../api.ts';
import type { Changed, NumberSettingState } from '../responses.ts';
import { numberWithin, SettingElement } from './setting-element.ts';

type Value = Record<string, number>;

/** A setting that is one number. */
class NumberSetting extends SettingElement<Value, NumberSettingState> {
  static override properties = { path: {}, field: {} };

  path = '';
  field = '';
  words = anonymousField;
  /** What a number does. */
  effectOf: (value: number) => string = () => '';

  describe(value: Value) {
    return `${formatNumber(value[this.field] ?? 0)} ${this.words.unit}`;
  }

  effect(value: Value) {
    return html`<p>${this.effectOf(value[this.field] ?? 0)}</p>`;
  }

  askToChange({ stored, defaults }: NumberSettingState) {
    const { field: name, path, words } = this;
    const { label, unit, min, max } = words;
    ask(this, {
      heading: label,
      action: 'Save',
      message: (form) => {
        const typed = numberWithin(form(name), words);
        return html`${field(`${label}, ${unit}`, name, {
            type: 'number',
            required: true,
            autofocus: true,
            min,
            max,
            value: String(stored?.[name] ?? ''),
          })}
          <p class="hint">
            Default ${formatNumber(defaults[name] ?? 0)}; from ${formatNumber(min)} to ${formatNumber(max)}.
          </p>
          <p aria-live="polite">${typed === undefined ? nothing : this.effectOf(typed)}</p>`;
      },
      run: (form) => {
        const wanted = { [name]: Number(form(name)) };
        return this.saved(
          api.put<Changed>(path, { ...wanted, expected: { [name]: stored?.[name] ?? null } }),
          `${label}: ${this.describe(wanted)}, in force within a second.`,
        );
      },
    });
  }
}

customElements.define('number-setting', NumberSetting);
