import { html, nothing } from 'lit';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { EditForm } from './edit-form.ts';

/** Time without a key press after which the effect is asked for. */
const typingMs = 250;
/** While keys are counted. */
const askAgainMs = 1000;

/** Limits of a key or of a plan, with the effect of other ones before they are saved. */
export abstract class LimitsForm<
  Subject,
  Values extends Record<string, string>,
  Effect extends object,
> extends EditForm<Subject, Values> {
  effect: Effect | undefined;
  effectFailure: unknown;
  #typing: ReturnType<typeof setTimeout> | undefined;
  /** Number of the last question: a response to an earlier one is too late. */
  #asked = 0;

  abstract readEffect(base: Subject, typed: Values): Promise<Effect>;
  abstract limitFields(subject: Subject, values: Values): unknown;
  abstract effectView(): unknown;
  /** Says whether somebody else has changed the subject since the fields were. */
  abstract overtakenView(base: Subject, subject: Subject): unknown;

  /** Whether the effect is not complete yet, and has to be asked for again. */
  isCounting(_effect: Effect): boolean {
    return false;
  }

  questionView(): unknown {
    return nothing;
  }

  override onTyped() {
    this.askSoon(typingMs);
  }

  override reset() {
    super.reset();
    clearTimeout(this.#typing);
    this.#asked += 1;
    this.effect = undefined;
    this.effectFailure = undefined;
  }

  askSoon(delayMs: number) {
    this.#typing = setTimeout(() => void this.ask(), delayMs);
  }

  async ask() {
    const { base, typed } = this;
    const asked = this.#asked;
    if (base === undefined || typed === undefined || !this.querySelector('form')?.checkValidity()) return;
    try {
      const effect = await this.readEffect(base, typed);
      if (asked !== this.#asked) return;
      this.effect = effect;
      this.effectFailure = undefined;
      if (this.isCounting(effect)) this.askSoon(askAgainMs);
    } catch (error) {
      if (asked === this.#asked) this.effectFailure = error;
    }
  }

  fields(subject: Subject, values: Values) {
    const { base } = this;
    return html`<div class="fields">${this.limitFields(subject, values)}</div>
      <div class="effect" aria-live="polite">${this.effectView()} ${inlineFailure(this.effectFailure)}</div>
      ${this.questionView()} ${base === undefined ? nothing : this.overtakenView(base, subject)}`;
  }
}
