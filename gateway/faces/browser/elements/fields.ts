import { html, noChange, nothing } from 'lit';
import { byKind, keyFields, textIn, wordOf, type RecordFields } from '../../../limits/record-fields.ts';
import { formatDuration, isoTime, localTime } from '../format.ts';

/** The text of each field of a form, trimmed; empty for an unknown one and for a box that is not ticked. */
export type FormTexts = (name: string) => string;

export function textsOf(form: HTMLFormElement): FormTexts {
  const values = new FormData(form);
  return (name) => {
    const value = values.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
}

/** What is in the form of an event. The browser does not send it. */
export function formTexts(event: Event): FormTexts {
  event.preventDefault();
  const form = event.currentTarget;
  return form instanceof HTMLFormElement ? textsOf(form) : () => '';
}

/** A listener that passes on what was typed or chosen in a field, and the name of the field. */
export const withField =
  (use: (value: string, name: string) => unknown) =>
  ({ target }: Event) => {
    if (target instanceof HTMLSelectElement || target instanceof HTMLInputElement)
      use(target.value, target.name);
  };

export interface FieldOptions {
  type?: string;
  /** What the field shows. Left out, it keeps what was typed. */
  value?: string | number | null | undefined;
  /** What it shows at first, in place of a value. */
  initial?: string;
  required?: boolean;
  autofocus?: boolean;
  maxlength?: number;
  min?: number;
  max?: number;
  step?: string;
  placeholder?: string;
  /** What the field means, below it. */
  hint?: string;
}

/** A field with its label. Browsers neither complete nor correct what is typed. */
export const field = (label: unknown, name: string, options: FieldOptions = {}) => {
  const { type = 'text', maxlength = 100, required = false, autofocus = false, hint } = options;
  const labelled = html`<label
    >${label}
    <input
      name=${name}
      type=${type}
      inputmode=${type === 'number' ? 'numeric' : nothing}
      maxlength=${maxlength}
      min=${options.min ?? nothing}
      max=${options.max ?? nothing}
      step=${options.step ?? nothing}
      placeholder=${options.placeholder ?? nothing}
      aria-describedby=${hint === undefined ? nothing : `about-${name}`}
      autocomplete="off"
      autocapitalize="none"
      spellcheck="false"
      ?required=${required}
      ?autofocus=${autofocus}
      value=${options.initial ?? nothing}
      .value=${options.initial === undefined ? (options.value ?? '') : noChange}
  /></label>`;
  return hint === undefined
    ? labelled
    : html`<div>
        ${labelled}
        <p class="quiet" id=${`about-${name}`}>${hint}</p>
      </div>`;
};

/** A box to tick. */
export const checkbox = (
  label: unknown,
  name: string,
  { checked = false, required = false }: { checked?: boolean; required?: boolean } = {},
) =>
  html`<label class="check row"
    ><input type="checkbox" name=${name} ?required=${required} .checked=${checked} /> ${label}</label
  >`;

/** @param options value and text of each; the value of the address or record is one of them, even if it is not known any more */
export function choice(
  label: unknown,
  name: string,
  options: readonly (readonly [value: string | number, text: string])[],
  { value, autofocus = false }: { value?: string; autofocus?: boolean } = {},
) {
  const isChosen = (each: string | number) => String(each) === value;
  const isKnown = value === undefined || options.some(([each]) => isChosen(each));
  return html`<label
    >${label}
    <select name=${name} ?autofocus=${autofocus}>
      ${[...options, ...(isKnown ? [] : [[value, value] as const])].map(
        ([each, text]) => html`<option value=${each} .selected=${isChosen(each)}>${text}</option>`,
      )}
    </select></label
  >`;
}

/** Options for an hour, a day, a week and 30 days. */
const lengths = [3600, 86_400, 604_800, 2_592_000].map(
  (seconds) => [seconds, formatDuration(seconds)] as const,
);

/** For how long a key still works when it is replaced. */
export const graceField = () =>
  choice(
    html`The old key <span class="quiet">(if it has leaked, choose: ends now)</span>`,
    'grace',
    [['0', 'Ends now'], ...lengths.map(([seconds, text]) => [seconds, `Works for ${text} more`] as const)],
    { value: '86400', autofocus: true },
  );

/** For how long a key is banned. */
export const lengthField = () =>
  choice('For', 'seconds', [[900, '15 minutes'], ...lengths], { autofocus: true });

/** Names the fields that a rotation keeps: "name, expiry and scopes". */
export const keptWords = (fields: RecordFields) =>
  new Intl.ListFormat('en-GB').format(['name', ...Object.values(fields).map(wordOf)]);

/** The day on which a key expires, for a key that has no time yet. */
export const dateField = (label: string = keyFields.expiresAt.label, name = 'expiresAt') =>
  field(`${label} at the beginning of (UTC)`, name, { type: 'date' });

/** @returns null for all */
function scopesIn(text: string): string[] | null {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  return scopes.length === 0 ? null : scopes;
}

/** Fields for what operators give a key or a customer, beside its name. @param record undefined for a new one */
export const recordFields = (fields: RecordFields, record?: object) =>
  Object.values(
    byKind(fields, {
      text: ({ label }, name) => field(label, name, { value: record && textIn(record, name) }),
      time: ({ label }, name) =>
        record === undefined
          ? dateField(label, name)
          : field(`${label} (your time zone)`, name, {
              type: 'datetime-local',
              step: '1',
              value: localTime(textIn(record, name)),
            }),
      scopes: ({ label }, name) =>
        field(label, name, { placeholder: 'all', value: record && textIn(record, name), maxlength: 5000 }),
    }),
  );

/** What the API takes for what is in a form; null for an empty field. */
export const formFields = (fields: RecordFields, form: FormTexts) =>
  byKind(fields, {
    text: (_field, name) => form(name) || null,
    time: (_field, name) => isoTime(form(name)) || null,
    scopes: (_field, name) => scopesIn(form(name)),
  });
