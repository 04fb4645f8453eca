import { html, nothing } from 'lit';
import { changeReason } from '../change-reason.ts';
import { withField } from '../form-text.ts';

interface FieldOptions {
  type?: string;
  /** What the field shows. Left out, it keeps what was typed. */
  value?: string | undefined;
  required?: boolean;
  autofocus?: boolean;
  maxlength?: number;
  min?: number;
  max?: number;
  step?: string;
  placeholder?: string;
  /** What the field means, below it. */
  hint?: string;
  onInput?: (value: string) => unknown;
}

/** A field with its label. Browsers neither complete nor correct what is typed. */
export const field = (label: unknown, name: string | undefined, options: FieldOptions = {}) => {
  const { type = 'text', maxlength = 100, required = false, autofocus = false, onInput, hint } = options;
  const labelled = html`<label
    >${label}
    <input
      name=${name ?? nothing}
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
      @input=${onInput === undefined ? nothing : withField(onInput)}
  /></label>`;
  return hint === undefined
    ? labelled
    : html`<div>
        ${labelled}
        <p class="hint" id=${`about-${name}`}>${hint}</p>
      </div>`;
};

/** A box to tick. */
export const checkbox = (
  label: unknown,
  name: string | undefined,
  { checked = false, required = false }: { checked?: boolean; required?: boolean } = {},
) =>
  html`<label class="check"
    ><input type="checkbox" name=${name ?? nothing} ?required=${required} .checked=${checked} />
    ${label}</label
  >`;

/** @param options value and text of each; the value of the address or record is one of them, even if it is not known any more */
export function choice(
  label: string,
  name: string | undefined,
  options: readonly (readonly [value: string | number, text: string])[],
  {
    value,
    required = false,
    autofocus = false,
    onChange,
  }: Pick<FieldOptions, 'value' | 'required' | 'autofocus'> & { onChange?: (value: string) => unknown } = {},
) {
  const isChosen = (each: string | number) => String(each) === value;
  const isKnown = value === undefined || options.some(([each]) => isChosen(each));
  return html`<label
    >${label}
    <select
      name=${name ?? nothing}
      ?required=${required}
      ?autofocus=${autofocus}
      @change=${onChange === undefined ? nothing : withField(onChange)}
    >
      ${[...options, ...(isKnown ? [] : [[value, value] as const])].map(
        ([each, text]) => html`<option value=${each} .selected=${isChosen(each)}>${text}</option>`,
      )}
    </select></label
  >`;
}

/** Texts of seconds. */
const lengths = { 3600: '1 hour', 86_400: '1 day', 604_800: '1 week', 2_592_000: '30 days' };

/** For how long a key still works when it is replaced. */
export const graceField = () =>
  choice(
    'The old key',
    'grace',
    [
      ['0', 'Ends now'],
      ...Object.entries(lengths).map(([seconds, text]) => [seconds, `Works for ${text} more`] as const),
    ],
    { value: '86400', autofocus: true },
  );

/** For how long a key is banned. */
export const lengthField = () =>
  choice('For', 'seconds', Object.entries({ 900: '15 minutes', ...lengths }), { autofocus: true });

/** Asks whether unusual limits are meant. @param doubts empty if nothing is unusual */
export const meantBox = (doubts: string) =>
  doubts === '' ? nothing : checkbox(`${doubts} I mean that.`, 'confirmed', { required: true });

/** Asks why the change is made. Not needed: the audit log has it if it was given. */
export const reasonField = () =>
  field(html`Reason <span class="quiet">(ticket; for the audit log)</span>`, undefined, {
    value: changeReason.text,
    onInput: (text) => (changeReason.text = text),
  });
