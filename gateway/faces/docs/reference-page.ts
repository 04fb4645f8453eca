import type { ApiDescription } from '../../upstream/api-description.ts';
import type { ApiDocument, Operation, Schema } from '../../upstream/api-document.ts';
import type { OperationAccess } from '../../upstream/service-description.ts';
import { html, type Html } from '../html.ts';
import type { Page } from './layout.ts';
import { codeBlock, headingId, renderMarkdown } from './markdown.ts';
import { createSamples } from './samples.ts';

/** Page about every operation and schema of the description. */
export function referencePage(
  { title, version, description, operations, schemas }: ApiDocument,
  described: ApiDescription['operations'],
  keyVariable: string,
): Page {
  const accessOf = new Map(described.map(({ method, route, access }) => [`${method} ${route}`, access]));
  const intro = `# ${title} ${version}

Made from the [OpenAPI description](/openapi.json). Every path also supports \`HEAD\` where it supports \`GET\`, and \`OPTIONS\`.

${description.trim()}`;
  const parts = operations.map((operation) =>
    describeOperation(operation, accessOf.get(`${operation.method} ${operation.path}`), keyVariable),
  );
  const types = `## Schemas\n\n${schemas.map(({ name, schema }) => `### ${name}\n\n${schemaText(schema)}`).join('\n\n')}\n`;
  return {
    path: '/docs/reference',
    title: 'Reference',
    body: html`${renderMarkdown(intro)} ${parts.map(({ section }) => section)} ${renderMarkdown(types)}`,
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

/**
 * The section of the reference about one operation, and the same as Markdown.
 * @param keyVariable environment variable that holds the API key in samples
 */
function describeOperation(
  operation: Operation,
  access: OperationAccess | undefined,
  keyVariable: string,
): { markdown: string; section: Html } {
  const about = aboutOf(operation, access);
  const responses = responsesOf(operation);
  const samples = createSamples(operation, keyVariable);
  const panels = samples.map(
    ({ language, code }) =>
      html`<div data-language="${language}">
        <noscript><h3>${language}</h3></noscript>
        ${codeBlock(code)}
      </div>`,
  );
  return {
    markdown: [about, `Responses:\n\n${responses}`, `\`\`\`sh\n${samples[0]?.code}\n\`\`\``].join('\n\n'),
    section: html`<section class="operation grid">
      <div>
        ${renderMarkdown(about)}
        <details>
          <summary>Responses</summary>
          ${renderMarkdown(responses)}
        </details>
      </div>
      <div>
        <div data-languages="${operation.summary}">${panels}</div>
        ${exampleResponse(operation)}
      </div>
    </section> `,
  };
}

function aboutOf(operation: Operation, access: OperationAccess | undefined): string {
  const { summary, method, path, deprecated, description, parameters, requestBody } = operation;
  const { scopes = [], cost = 1 } = access ?? {};
  const body = requestBody?.['application/json']?.schema;
  const needed = [
    cost === 1 ? '' : `Costs ${cost} of the limits’ requests. `,
    scopes.length === 0
      ? ''
      : `A key with a list of scopes needs ${scopes.map((scope) => `\`${scope}\``).join(' ')}.`,
  ];
  const fields = parameters.map(({ name, in: place, required, schema, description: text }) =>
    fieldItem(name, [place, required ? 'required' : '', describeType(schema)], text),
  );
  const parts = [
    `## ${summary}`,
    `\`${method} ${path}\`${deprecated ? ' **deprecated**' : ''}`,
    description.trim(),
    needed.join(''),
    fields.length === 0 ? '' : `Parameters:\n\n${fields.join('\n')}`,
    body === undefined ? '' : `Body, JSON: ${describeType(body)}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Each status with its body and, of an error, an example, and the headers of each with the statuses that they come with. */
function responsesOf({ responses }: Operation): string {
  const statuses = responses.map(({ status, response }) => {
    const { schema, example } = response.content['application/json'] ?? {};
    const shown = example === undefined || status.startsWith('2') ? '' : `\n\`${JSON.stringify(example)}\``;
    return fieldItem(
      status,
      [schema === undefined ? 'no body' : describeType(schema)],
      response.description + shown,
    );
  });
  const each = responses.flatMap(({ status, response }) =>
    Object.entries(response.headers).map(([name, header]) => ({ name, status, header })),
  );
  const headers = Map.groupBy(each, ({ name, header }) => `${name} ${header.description}`);
  const items = Array.from(headers.values()).flatMap((same) => {
    const of = same.length === responses.length ? '' : same.map(({ status }) => status).join(' ');
    return same
      .slice(0, 1)
      .map(({ name, header }) => fieldItem(name, [describeType(header.schema), of], header.description));
  });
  return [...statuses, ...(items.length === 0 ? [] : ['\nTheir headers:\n', ...items])].join('\n');
}

function exampleResponse({ responses }: Operation): Html | undefined {
  for (const { status, response } of responses) {
    const { example } = response.content['application/json'] ?? {};
    if (example === undefined || !status.startsWith('2')) continue;
    return html`<h3>Response ${status}</h3>
      ${codeBlock(JSON.stringify(example, null, 2))}`;
  }
  return undefined;
}

/** Item of a list in Markdown about a parameter, a header, a property or a status. @param text may have several lines */
function fieldItem(name: string, notes: readonly string[], text = ''): string {
  const about = text.trim().replaceAll('\n', '\n  ');
  return `- \`${name}\` (${notes.filter((note) => note !== '').join(', ')})${about === '' ? '' : `: ${about}`}`;
}

/** Type of a value with its limits, in Markdown; the name of a schema is a link. */
function describeType(schema: Schema): string {
  const { $ref: reference, items, anyOf, allOf, format } = schema;
  if (reference !== undefined) {
    const name = reference.split('/').at(-1) ?? '';
    return `[${name}](#${headingId(name)})`;
  }
  if (items !== undefined) return `array of ${describeType(items)}${limitsOf(schema)}`;
  if (schema.enum !== undefined) return `one of ${schema.enum.map((value) => `\`${value}\``).join(' ')}`;
  if (anyOf !== undefined) return anyOf.map(describeType).join(' or ');
  if (allOf !== undefined) return allOf.map(describeType).join(' with ');
  const types = [schema.type ?? 'any'].flat().join(' or ');
  return `${types}${format === undefined ? '' : ` (${format})`}${limitsOf(schema)}`;
}

function limitsOf(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, maxItems, default: byDefault, format } = schema;
  return [
    // The range of an int64 says nothing more than its format, and numbers that large are not exact here.
    ...(format === 'int64' ? [] : [range(minimum, maximum, '')]),
    range(minLength, maxLength, ' characters'),
    ...(maxItems === undefined ? [] : [`at most ${maxItems}`]),
    ...(byDefault === undefined ? [] : [`default ${byDefault}`]),
  ]
    .filter((text) => text !== '')
    .map((text) => `, ${text}`)
    .join('');
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined) return most === undefined ? '' : `at most ${most}${unit}`;
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`;
}
