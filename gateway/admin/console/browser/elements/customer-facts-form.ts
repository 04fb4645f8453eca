import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { apiPath } from '../key.ts';
import type { Changed, CustomerDetail } from '../responses.ts';
import { ActingElement } from './acting-element.ts';
import { inlineFailure } from './page-state.ts';
import { saveActions } from './save-actions.ts';

const fields = [
  ['name', 'Name'],
  ['contact', 'Contact'],
  ['reference', 'Reference of the billing system'],
  ['notes', 'Notes'],
] as const;

/** What people write about a customer. Dispatches `changed` with the customer as it is then. */
export class CustomerFactsForm extends ActingElement {
  static override properties = { customer: { attribute: false }, base: { state: true } };

  customer: CustomerDetail | undefined;
  /** The customer as it was when it was first edited. */
  base: CustomerDetail | undefined;

  async submit(event: SubmitEvent) {
    event.preventDefault();
    const { base } = this;
    if (base === undefined || !(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    const changes = fields.flatMap(([field]) => {
      const text = formText(form, field);
      return text === (base[field] ?? '') ? [] : [[field, text === '' ? null : text] as const];
    });
    await this.act(async () => {
      const body = { rev: base.rev, ...Object.fromEntries(changes) };
      const customer = await api.patch<Changed<CustomerDetail>>(apiPath(base.id), body);
      this.base = undefined;
      this.announce('The customer is changed', customer);
    });
  }

  reset() {
    this.base = undefined;
    this.failure = undefined;
    for (const [field] of fields) {
      const input = this.querySelector(`[name="${field}"]`);
      if (input instanceof HTMLInputElement) input.value = this.customer?.[field] ?? '';
    }
  }

  override render() {
    const shown = this.base ?? this.customer;
    if (shown === undefined) return nothing;
    return html`<form
      class="stack"
      @submit=${this.submit}
      @input=${() => {
        this.base ??= this.customer;
      }}
    >
      <div class="fields">
        ${fields.map(
          ([field, label]) =>
            html`<label
              >${label}
              <input
                name=${field}
                maxlength="100"
                ?required=${field === 'name'}
                .value=${shown[field] ?? ''}
              />
            </label>`,
        )}
      </div>
      ${inlineFailure(this.failure)}
      ${saveActions({
        busy: this.busy,
        label: 'Save the customer',
        canSave: this.base !== undefined,
        canDiscard: this.base !== undefined,
        discard: () => this.reset(),
      })}
    </form>`;
  }
}

customElements.define('customer-facts-form', CustomerFactsForm);
