import { html } from 'lit';
import { byKind, textIn, wordOf, type RecordFields } from '../../../../limits/record-fields.ts';
import { capitalized, formatRelative, formatTime } from '../../../browser/format.ts';

/** A name and a value; false for one that is not shown. */
export type Fact = readonly [name: string, value: unknown] | false;

export const factList = (facts: readonly Fact[]) =>
  html`<dl class="facts grid">
    ${facts.map((fact) =>
      fact === false
        ? ''
        : html`<div>
            <dt>${fact[0]}</dt>
            <dd>${fact[1]}</dd>
          </div>`,
    )}
  </dl>`;

/** What operators gave a key or a customer, by the names of the fields. */
export function recordFacts<Of extends RecordFields>(fields: Of, record: object): Record<keyof Of, Fact>;
export function recordFacts(fields: RecordFields, record: object) {
  return byKind(fields, {
    text: (field, name): Fact => [capitalized(wordOf(field)), textIn(record, name) || '–'],
    time: ({ label }, name): Fact => {
      const time = textIn(record, name);
      return [label, time === '' ? 'never' : html`${formatTime(time)} (${formatRelative(time)})`];
    },
    scopes: ({ label }, name): Fact => [label, textIn(record, name) || 'all'],
  });
}
