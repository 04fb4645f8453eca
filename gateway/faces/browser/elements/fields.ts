import { html, nothing } from 'lit';
import { keyFields } from '../../../limits/record-fields.ts';

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

export interface FieldOptions {
  type?: string;
  /** What the field shows. Left out, it keeps what was typed. */
  value?: string | number | null | undefined;
  required?: boolean;
  autofocus?: boolean;
  maxlength?: number | undefined;
  min?: number | undefined;
  max?: number | undefined;
  step?: string;
  placeholder?: string;
  /** What the field means, below it. */
  hint?: string;
}

/** What is in parentheses at the end of a label is less important. */
function labelled(label: unknown) {
  const [, text, aside] = (typeof label === 'string' && /^(.+?) (\(.+\))$/.exec(label)) || [];
  return aside === undefined ? label : html`${text} <span class="quiet">${aside}</span>`;
}

/** A field with its label. Browsers neither complete nor correct what is typed. */
export const field = (label: unknown, name: string, options: FieldOptions = {}) => {
  const { type = 'text', maxlength = 100, required = false, autofocus = false, hint } = options;
  const input = html`<label
    >${labelled(label)}
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
      .value=${options.value ?? ''}
  /></label>`;
  return hint === undefined
    ? input
    : html`<div>
        ${input}
        <p class="quiet" id=${`about-${name}`}>${hint}</p>
      </div>`;
};

/** A box to tick. */
export const checkbox = (label: unknown, name: string, { checked = false }: { checked?: boolean } = {}) =>
  html`<label class="check row"
    ><input type="checkbox" name=${name} .checked=${checked} /> <span>${labelled(label)}</span></label
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
    >${labelled(label)}
    <select name=${name} ?autofocus=${autofocus}>
      ${[...options, ...(isKnown ? [] : [[value, value] as const])].map(
        ([each, text]) => html`<option value=${each} .selected=${isChosen(each)}>${text}</option>`,
      )}
    </select></label
  >`;
}

/** The day on which a key expires, for a key that has no time yet. */
export const dateField = (label: string = keyFields.expiresAt.label, name = 'expiresAt') =>
  field(`${label} at the beginning of (UTC)`, name, { type: 'date' });
