import type { ApiDescription } from '../../upstream/api-description.ts';
import type { ApiDocument, Schema } from '../../upstream/api-document.ts';
import { fieldList } from './field-list.ts';
import { html, type Html } from './html.ts';
import { keyForm } from './key-form.ts';
import type { Page } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { operationSection, type OperationSettings } from './operation-section.ts';
import { referenceMarkdown } from './reference-markdown.ts';
import { describeType, descriptionOf } from './schema-type.ts';

/** What the page says beside the description. */
export interface ReferenceSettings extends OperationSettings {
  path: string;
  descriptionPath: string;
  /** Methods that the description leaves out. */
  methods?: Html;
  /** What the text of the description is about. */
  about: string;
}

/** Page about every operation and schema of the description. */
export function referencePage(
  document: ApiDocument,
  described: ApiDescription['operations'],
  settings: ReferenceSettings,
): Page {
  const { path, descriptionPath, methods, about, keyPrefix } = settings;
  const { title, version, description, operations, schemas } = document;
  const accessOf = new Map(described.map(({ method, route, access }) => [`${method} ${route}`, access]));
  const sections = operations.map((operation) =>
    operationSection(operation, accessOf.get(`${operation.method} ${operation.path}`), settings),
  );
  const form = keyPrefix === undefined ? undefined : keyForm('Use this key', keyPrefix);
  const body = html`<h1>${title} ${version}</h1>
    <p>Made from the <a href="${descriptionPath}">OpenAPI description</a>. ${methods}</p>
    <details class="panel">
      <summary>${about}</summary>
      ${renderMarkdown(description).body}
    </details>
    ${form} ${sections}
    <h2 id="schemas"><a class="anchor" href="#schemas">Schemas</a></h2>
    ${schemas.map(
      ({ name, schema }) =>
        html`<section aria-labelledby="schema-${name}">
          <h3 id="schema-${name}"><a class="anchor" href="#schema-${name}">${name}</a></h3>
          ${schemaBody(schema)}
        </section>`,
    )}`;
  const contents = [
    ...operations.map(({ operationId, summary }) => ({ id: operationId, text: summary })),
    { id: 'schemas', text: 'Schemas' },
  ];
  const markdown = referenceMarkdown(document, accessOf, settings);
  return { path, title: 'Reference', contents, body, markdown };
}

/** The properties of an object; for any other schema, its type. */
function schemaBody(schema: Schema): Html {
  const { properties, required = [] } = schema;
  if (properties === undefined)
    return html`<p>${describeType(schema)}</p>
      ${descriptionOf(schema)}`;
  const fields = Object.entries(properties).map(([name, property]) => ({
    name,
    note: required.includes(name) ? '' : 'optional',
    schema: property,
    description: property.description,
  }));
  return html`${descriptionOf(schema)} ${fieldList(fields)}`;
}
