import type { Schema } from '../../upstream/api-document.ts';
import { html, type Html } from './html.ts';
import { describeType, descriptionOf } from './schema-type.ts';

/** A parameter, or a property of an object. */
export interface Field {
  name: string;
  /** Such as `query` or `optional`; nothing if it is empty. */
  note: string;
  schema: Schema;
  description?: string | undefined;
}

/** Fields one below the other, which is readable at any width. */
export function fieldList(fields: readonly Field[]): Html {
  const parts = fields.map(
    ({ name, note, schema, description }) =>
      html`<dt>
          <code>${name}</code> ${describeType(schema)}
          ${note === '' ? undefined : html`<small>${note}</small>`}
        </dt>
        <dd>${descriptionOf({ description })}</dd>`,
  );
  return html`<dl class="fields">${parts}</dl>`;
}
