import { html, nothing } from 'lit';
import { field } from '../../../../browser/elements/fields.ts';
import { keyWords, scopesField, scopesIn } from '../../../../browser/elements/key-fields.ts';
import { capitalized } from '../../../../browser/format.ts';
import { byText, customerTexts } from '../../../../limits/customer-texts.ts';
import type { KeyFields } from '../../../../operations/key-input.ts';
import { api } from '../api.ts';
import { apiPath } from '../key.ts';
import { isoTime, localTime } from '../local-time.ts';
import type { Changed, CustomerDetail, KeyDetail } from '../responses.ts';
import { EditForm } from './edit-form.ts';

/** What people write about a key or a customer: only what differs is changed. */
abstract class FactsForm<Subject extends { id: string; rev: unknown }> extends EditForm<
  Subject,
  Record<string, string>
> {
  override readonly wide = true;
  abstract readonly done: string;
  abstract factFields(values: Record<string, string>): Record<string, unknown>;

  /** What the fields mean. */
  note(): unknown {
    return nothing;
  }

  /** @returns what the API takes for a text */
  bodyOf(_name: string, text: string): unknown {
    return text === '' ? null : text;
  }

  async save(base: Subject, typed: Record<string, string>) {
    const stored = this.valuesOf(base);
    const changes = Object.entries(typed).filter(([name, text]) => text !== stored[name]);
    const body = Object.fromEntries(changes.map(([name, text]) => [name, this.bodyOf(name, text)]));
    const changed = await api.patch<Changed>(apiPath(base.id), { rev: base.rev, ...body });
    return [this.done, changed] as const;
  }

  fields(_subject: Subject, values: Record<string, string>) {
    return html`<div class="fields">${Object.values(this.factFields(values))}</div>
      ${this.note()}`;
  }
}

type KeyFact = 'name' | keyof KeyFields;

/** What people give a key of its own. */
export class KeyFactsForm extends FactsForm<KeyDetail> {
  override readonly saveLabel = `Save ${keyWords}`;
  override readonly done = `${capitalized(keyWords)} changed`;

  valuesOf({ name, expiresAt, scopes }: KeyDetail): Record<KeyFact, string> {
    return {
      name,
      expiresAt: localTime(expiresAt ?? '', { seconds: true }),
      scopes: scopes?.join(' ') ?? '',
    };
  }

  override bodyOf(name: string, text: string) {
    if (name === 'scopes') return scopesIn(text);
    return super.bodyOf(name, name === 'expiresAt' ? isoTime(text) : text);
  }

  factFields({ name, expiresAt: value, scopes }: Record<string, string>): Record<KeyFact, unknown> {
    return {
      name: field('Name', 'name', { required: true, value: name }),
      expiresAt: field('Expires (your time zone)', 'expiresAt', { type: 'datetime-local', step: '1', value }),
      scopes: scopesField(scopes),
    };
  }

  override note() {
    return html`<p class="hint">
      Without a time the key does not expire; without scopes it may call all operations.
    </p>`;
  }
}

customElements.define('key-facts-form', KeyFactsForm);

/** What people write about a customer. */
class CustomerFactsForm extends FactsForm<CustomerDetail> {
  override readonly saveLabel = 'Save the customer';
  override readonly done = 'The customer is changed';

  valuesOf({ name, ...customer }: CustomerDetail) {
    return { name, ...byText((text) => customer[text] ?? '') };
  }

  factFields(values: Record<string, string>) {
    return {
      name: field('Name', 'name', { required: true, value: values['name'] }),
      ...byText((name) => field(customerTexts[name].label, name, { value: values[name] })),
    };
  }
}

customElements.define('customer-facts-form', CustomerFactsForm);
