import { html, nothing, type PropertyDeclarations } from 'lit';
import { formText } from '../form-text.ts';
import type { Changed } from '../responses.ts';
import { session } from '../session.ts';
import { ActingElement } from './acting-element.ts';
import { inlineFailure } from './page-state.ts';
import { saveActions } from './save-actions.ts';

/** Time without a key press after which the effect is asked for. */
const typingMs = 250;
/** While keys are counted. */
const askAgainMs = 1000;

/**
 * Limits of a key or of a plan, with the effect of other ones before they are saved or tried. What was typed stays, whatever
 * happens to the key or the plan in the meantime. Dispatches `changed` when they were saved or are tried, and `conflict` if
 * somebody else has changed them. A subclass has the fields, and what they do.
 */
export abstract class LimitsForm<
  Subject,
  Values extends Record<string, string>,
  Effect extends object,
> extends ActingElement {
  static override properties: PropertyDeclarations = {
    subject: { attribute: false },
    typed: { state: true },
    effect: { state: true },
    effectFailure: { state: true },
  };

  subject: Subject | undefined;
  /** What is in the fields while they differ from the subject. */
  typed: Values | undefined;
  /** The subject that the fields were changed from. */
  base: Subject | undefined;
  effect: Effect | undefined;
  effectFailure: unknown;
  typing: ReturnType<typeof setTimeout> | undefined;
  /** Number of the last question: a response to an earlier one is too late. */
  asked = 0;

  constructor() {
    super();
    this.whileConnected(() => () => this.reset());
  }

  abstract valuesOf(subject: Subject): Values;
  abstract readEffect(base: Subject, typed: Values): Promise<Effect>;
  abstract fields(subject: Subject, values: Values): unknown;
  abstract effectView(): unknown;
  /** Says whether somebody else has changed the subject since the fields were. */
  abstract overtakenView(base: Subject, subject: Subject): unknown;
  abstract save(base: Subject, typed: Values): Promise<readonly [done: string, changed: Changed]>;
  abstract try(base: Subject, typed: Values): Promise<readonly [done: string, changed: Changed]>;
  abstract get canSave(): boolean;
  abstract get canTry(): boolean;
  abstract readonly labels: { save: string; try: string };

  /** Whether the effect is not complete yet, and has to be asked for again. */
  isCounting(_effect: Effect): boolean {
    return false;
  }

  questionView(): unknown {
    return nothing;
  }

  changed({ currentTarget: form }: Event) {
    if (!(form instanceof HTMLFormElement) || this.subject === undefined) return;
    const base = this.base ?? this.subject;
    const stored = this.valuesOf(base);
    const data = new FormData(form);
    const typed = { ...stored };
    for (const name of Object.keys(stored)) Object.assign(typed, { [name]: formText(data, name) });
    if (isSame(typed, this.typed ?? stored)) return;
    this.reset();
    if (isSame(typed, stored)) return;
    this.base = base;
    this.typed = typed;
    this.askSoon(typingMs);
  }

  /** Shows what is stored. */
  reset() {
    clearTimeout(this.typing);
    this.asked += 1;
    this.typed = undefined;
    this.base = undefined;
    this.effect = undefined;
    this.effectFailure = undefined;
    this.failure = undefined;
  }

  askSoon(delayMs: number) {
    this.typing = setTimeout(() => void this.ask(), delayMs);
  }

  async ask() {
    const { base, typed, asked } = this;
    if (base === undefined || typed === undefined || !this.querySelector('form')?.checkValidity()) return;
    try {
      const effect = await this.readEffect(base, typed);
      if (asked !== this.asked) return;
      this.effect = effect;
      this.effectFailure = undefined;
      if (this.isCounting(effect)) this.askSoon(askAgainMs);
    } catch (error) {
      if (asked === this.asked) this.effectFailure = error;
    }
  }

  /** Saves or tries what was typed, and shows what is stored then. */
  async apply(change: typeof this.save) {
    const { base, typed } = this;
    if (base === undefined || typed === undefined) return;
    await this.act(async () => {
      const [done, changed] = await change.call(this, base, typed);
      this.reset();
      this.announce(done, changed);
    });
    if (this.hasConflict) this.dispatchEvent(new CustomEvent('conflict'));
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    void this.apply(this.save);
  }

  override render() {
    const { subject, base } = this;
    if (subject === undefined) return nothing;
    return html`<form class="narrow" @submit=${this.submit} @input=${this.changed}>
      <fieldset ?disabled=${!session.isOperator}>
        <div class="fields">${this.fields(subject, this.typed ?? this.valuesOf(subject))}</div>
        <div class="effect" aria-live="polite">${this.effectView()} ${inlineFailure(this.effectFailure)}</div>
        ${this.questionView()} ${base === undefined ? nothing : this.overtakenView(base, subject)}
        ${inlineFailure(this.failure)}
        ${saveActions({
          busy: this.busy,
          label: this.labels.save,
          canSave: this.canSave,
          canDiscard: this.typed !== undefined,
          discard: () => this.reset(),
          more: html`<button
            type="button"
            ?disabled=${!this.canTry || this.busy}
            title="Counts what these limits would refuse, and refuses nothing"
            @click=${() => this.apply(this.try)}
          >
            ${this.labels.try}
          </button>`,
        })}
      </fieldset>
    </form>`;
  }
}

const isSame = (one: Record<string, string>, other: Record<string, string>) =>
  Object.entries(one).every(([name, value]) => other[name] === value);
