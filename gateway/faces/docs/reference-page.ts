import type { ApiDescription } from '../../upstream/api-description.ts';
import type { ApiDocument, Schema } from '../../upstream/api-document.ts';
import { html } from '../html.ts';
import type { Page } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import {
  describeOperation,
  describeType,
  fieldItem,
  keyForm,
  type OperationSettings,
} from './operation-section.ts';

/** Page about every operation and schema of the description. */
export function referencePage(
  { title, version, description, operations, schemas }: ApiDocument,
  described: ApiDescription['operations'],
  settings: OperationSettings,
): Page {
  const accessOf = new Map(described.map(({ method, route, access }) => [`${method} ${route}`, access]));
  const intro = `# ${title} ${version}

Made from the [OpenAPI description](/openapi.json). Every path also supports \`HEAD\` where it supports \`GET\`, and \`OPTIONS\`.

${description.trim()}`;
  const parts = operations.map((operation) =>
    describeOperation(operation, accessOf.get(`${operation.method} ${operation.path}`), settings),
  );
  const types = `## Schemas\n\n${schemas.map(({ name, schema }) => `### ${name}\n\n${schemaText(schema)}`).join('\n\n')}\n`;
  return {
    path: '/docs/reference',
    title: 'Reference',
    body: html`${renderMarkdown(intro)} ${keyForm(settings.keyPrefix)} ${parts.map(({ section }) => section)}
    ${renderMarkdown(types)}`,
    markdown: [intro, ...parts.map(({ markdown }) => markdown), types].join('\n\n'),
  };
}

/** The properties of an object; for any other schema, its type. */
function schemaText(schema: Schema): string {
  const { properties, required = [], description = '' } = schema;
  const fields =
    properties === undefined
      ? describeType(schema)
      : Object.entries(properties)
          .map(([name, property]) =>
            fieldItem(
              name,
              [describeType(property), required.includes(name) ? '' : 'optional'],
              property.description,
            ),
          )
          .join('\n');
  return [description.trim(), fields].filter((part) => part !== '').join('\n\n');
}
