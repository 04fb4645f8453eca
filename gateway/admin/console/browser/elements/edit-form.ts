import { html, nothing } from 'lit';
import { ActingElement } from '../../../../browser/elements/acting-element.ts';
import { reasonField } from '../../../../browser/elements/fields.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { formTexts } from '../../../../browser/form-text.ts';
import type { Changed } from '../responses.ts';
import { session } from '../session.ts';

/**
 * A form that changes something. What was typed stays, whatever happens to the subject in the meantime. Dispatches `changed`
 * with the subject as it is when it was saved, and `conflict` if somebody else has changed it. A subclass has the fields, and
 * what they do.
 */
export abstract class EditForm<Subject, Values extends Record<string, string>> extends ActingElement {
  subject: Subject | undefined;
  /** What is in the fields while they differ from the subject. */
  typed: Values | undefined;
  /** The subject that the fields were changed from. */
  base: Subject | undefined;
  readonly saveLabel: string = 'Save';
  readonly wide: boolean = false;

  constructor() {
    super();
    this.whileConnected(() => () => this.reset());
  }

  /** @returns the text of each field, by its name */
  abstract valuesOf(subject: Subject): Values;
  abstract fields(subject: Subject, values: Values): unknown;
  abstract save(base: Subject, typed: Values): Promise<readonly [done: string, changed: Changed]>;

  get canSave() {
    return this.typed !== undefined;
  }

  /** Further buttons. */
  moreActions(): unknown {
    return nothing;
  }

  /** Moves the focus into a field. */
  async edit(name: string) {
    await this.updateComplete;
    const input = this.querySelector(`[name="${name}"]`);
    if (input instanceof HTMLElement) input.focus();
    if (input instanceof HTMLInputElement) input.select();
  }

  input(event: Event) {
    const base = this.base ?? this.subject;
    if (base === undefined) return;
    const stored = this.valuesOf(base);
    const text = formTexts(event);
    const typed = { ...stored };
    for (const name of Object.keys(stored)) Object.assign(typed, { [name]: text(name) });
    if (isSame(typed, this.typed ?? stored)) return;
    this.reset();
    if (isSame(typed, stored)) return;
    this.base = base;
    this.typed = typed;
    this.onTyped();
  }

  onTyped() {}

  /** Shows what is stored. */
  reset() {
    this.typed = undefined;
    this.base = undefined;
    this.failure = undefined;
  }

  /** Makes a change of what was typed, and shows what is stored then. */
  async apply(change: typeof this.save) {
    const base = this.base ?? this.subject;
    if (base === undefined) return;
    const typed = this.typed ?? this.valuesOf(base);
    await this.act(async () => {
      const [done, changed] = await change.call(this, base, typed);
      this.reset();
      this.announce(done, changed);
    });
    if (this.hasConflict) this.dispatchEvent(new CustomEvent('conflict'));
  }

  override render(): unknown {
    const { subject } = this;
    if (subject === undefined) return nothing;
    return html`<form
      class=${this.wide ? nothing : 'narrow'}
      @input=${this.input}
      @submit=${(event: SubmitEvent) => {
        event.preventDefault();
        if (this.canSave) void this.apply(this.save);
      }}
    >
      <fieldset ?disabled=${!session.isOperator}>
        ${this.fields(subject, this.typed ?? this.valuesOf(subject))} ${inlineFailure(this.failure)}
        ${session.isOperator ? this.saveActions() : nothing}
      </fieldset>
    </form>`;
  }

  saveActions() {
    const { busy, canSave, typed } = this;
    return html`${canSave ? reasonField() : nothing}
      <div class="actions">
        <button class="wa-brand" ?disabled=${!canSave || busy}>${busy ? 'Working…' : this.saveLabel}</button>
        <button type="button" class="wa-plain" ?disabled=${typed === undefined} @click=${() => this.reset()}>
          Discard
        </button>
        ${this.moreActions()}
      </div>`;
  }
}

const isSame = (one: Record<string, string>, other: Record<string, string>) =>
  Object.entries(one).every(([name, value]) => other[name] === value);
