import { html } from 'lit';
import { textIn } from '../../../../limits/record-fields.ts';
import { checkbox, choice, dateField, field, type FormTexts } from '../../../browser/elements/fields.ts';
import { isoTime, localTime } from '../../../browser/format.ts';
import type { DialogField } from '../../dialogs.ts';

/** A field for what an operation takes. @param record that has it already */
export function formField(
  { name, label, kind, type, choices, chosen, ...options }: DialogField & { autofocus?: boolean },
  record?: object,
) {
  const value = record && textIn(record, name);
  if (choices !== undefined && type === 'list') {
    const isChosen = (each: string) => value?.split(' ').includes(each) === true;
    return html`<fieldset>
      <legend>${label}</legend>
      ${choices.map(([each, text]) => checkbox(text, String(each), { checked: isChosen(String(each)) }))}
    </fieldset>`;
  }
  if (choices !== undefined)
    return choice(label, name, choices, { ...options, value: String(chosen ?? choices[0]?.[0]) });
  if (type === 'boolean') return checkbox(label, name, { checked: value === 'true' });
  if (kind === 'time') {
    return value === undefined
      ? dateField(label, name)
      : field(`${label} (your time zone)`, name, {
          type: 'datetime-local',
          step: '1',
          value: localTime(value),
        });
  }
  return field(label, name, {
    maxlength: type === 'list' ? 5000 : 100,
    ...options,
    type: kind ?? (type === 'number' ? type : 'text'),
    value,
  });
}

/** What the operation takes for what is in the field. */
export function formValue({ name, kind, type, choices, nullable }: DialogField, form: FormTexts): unknown {
  const empty = nullable ? null : undefined;
  if (type === 'list') {
    const given =
      choices === undefined
        ? form(name).split(/[\s,]+/)
        : choices.map(([each]) => (form(String(each)) === '' ? '' : each));
    const items = given.filter((item) => item !== '');
    return items.length === 0 ? empty : items;
  }
  if (type === 'boolean') return form(name) !== '';
  const text = kind === 'time' ? isoTime(form(name)) : form(name);
  if (text === '') return empty;
  return type === 'number' ? Number(text) : text;
}
