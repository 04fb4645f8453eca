import { html, nothing } from 'lit';
import { ActingElement } from '../../browser/elements/acting-element.ts';
import { field } from '../../browser/elements/fields.ts';
import { inlineFailure } from '../../browser/elements/page-state.ts';
import { formTexts } from '../../browser/form-text.ts';
import { api } from './api.ts';
import type { ChangedCustomer, Customer } from './responses.ts';

/** At which shares of the day and month limits there is an event. */
class ThresholdForm extends ActingElement {
  customer: Customer | undefined;

  save(event: SubmitEvent) {
    const thresholds = sharesIn(formTexts(event)('thresholds'));
    void this.act(async () => {
      const changed = await api.put<ChangedCustomer>('/thresholds', { thresholds });
      this.announce('The thresholds are changed.', changed);
    });
  }

  override render() {
    const { customer } = this;
    if (customer === undefined) return;
    const { thresholds, planThresholds, state } = customer;
    const isActive = state === 'active';
    return html`<h2>Thresholds</h2>
      <form class="stack narrow" @submit=${this.save}>
        <fieldset ?disabled=${!isActive}>
          ${field('Events at these shares of the day and month limits, in percent', 'thresholds', {
            value: thresholds === null ? '' : textOf(thresholds),
            placeholder: `${textOf(planThresholds)}, as your plan`,
            hint: html`<p class="hint">Such as 50, 90, 100; or “none”. Empty for those of your plan.</p>`,
          })}
          ${inlineFailure(this.failure)}
          ${isActive ? html`<button class="wa-brand" ?disabled=${this.busy}>Save</button>` : nothing}
        </fieldset>
      </form>`;
  }
}

const textOf = (thresholds: readonly number[]) => (thresholds.length === 0 ? 'none' : thresholds.join(', '));

/** @returns null for those of the plan. What is no number is refused by the API */
function sharesIn(text: string): number[] | null {
  const parts = text.split(/[\s,;%]+/).filter((part) => part !== '');
  if (parts.length === 0) return null;
  return /^none$/i.test(text.trim()) ? [] : parts.map(Number);
}

customElements.define('threshold-form', ThresholdForm);
