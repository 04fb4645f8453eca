import { html } from 'lit';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { formatNumber } from '../../../../browser/format.ts';
import { Refresher } from '../../../../browser/refresher.ts';
import { api } from '../api.ts';
import { issueList, Settling } from '../plan-text.ts';
import type { SettingState } from '../responses.ts';
import { EditForm } from './edit-form.ts';

type Bounds = { min: number; max: number };
export type TypedSetting = Record<string, string>;

/** A setting of the whole fleet, with what it does before it is saved. */
export abstract class SettingForm<Value extends object, State extends SettingState<Value>> extends EditForm<
  State,
  TypedSetting
> {
  refresher = new Refresher(
    this,
    () => this.load(),
    () => this.pauseMs,
  );

  /** Of the API. */
  abstract path: string;
  /** Text that describes a value. */
  abstract describe(value: Value): string;

  readonly #settling = new Settling();

  get pauseMs() {
    return this.#settling.isOn ? 1000 : 5000;
  }

  async load() {
    this.subject = await api.get<State>(this.path);
  }

  override async apply(change: typeof this.save) {
    await super.apply(change);
    if (this.failure === undefined) this.#settling.begin();
    await this.refresher.now();
    // What was typed stays, and can be saved over what is there now.
    if (this.hasConflict && this.typed !== undefined) this.base = this.subject;
  }

  override render() {
    const { subject, refresher } = this;
    if (subject === undefined) return refresher.placeholder();
    return html`${inlineFailure(refresher.failure)} ${issueList(subject.issues)}
    ${enforcedView(subject, this.#settling.isOn, (value) => this.describe(value))} ${super.render()}`;
  }
}

/** @returns the number that was typed; undefined if it is out of range */
export function numberWithin(text: string | undefined, { min, max }: Bounds) {
  const value = Number(text);
  return text !== undefined && text !== '' && value >= min && value <= max ? value : undefined;
}

/** Which gateways enforce what is stored, and what the others enforce. */
function enforcedView<T>(
  { enforced, gateways }: SettingState<T>,
  isSettling: boolean,
  describe: (value: T) => string,
) {
  if (enforced.length === 0)
    return html`<p class="quiet">
      ${gateways === 0 ? 'No gateway enforces it yet.' : `In force on ${formatNumber(gateways)} ${gateways === 1 ? 'gateway' : 'gateways'}.`}
    </p>`;
  if (isSettling) return html`<p class="quiet">Taking effect…</p>`;
  return html`<ul class="warnings">
    ${enforced.map(
      ({ value, gateways }) =>
        html`<li>
          ${formatNumber(gateways)} ${gateways === 1 ? 'gateway enforces' : 'gateways enforce'}:
          ${describe(value)}
        </li>`,
    )}
  </ul>`;
}
