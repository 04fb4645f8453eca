import type { ApiDescription } from '../../upstream/api-description.ts';
import type { ApiDocument, Operation, Parameter, Schema } from '../../upstream/api-document.ts';
import type { OperationAccess } from '../../upstream/routes.ts';
import { html, type Html } from '../html.ts';
import type { GuideSettings } from './guide.ts';
import type { Page } from './layout.ts';
import { codeBlock, headingId, renderMarkdown } from './markdown.ts';
import { createSamples, exampleBody, exampleOf } from './samples.ts';

/** Page about every operation and schema of the description. */
export function referencePage(
  { title, version, description, operations, schemas }: ApiDocument,
  described: ApiDescription['operations'],
  settings: Pick<GuideSettings, 'keyVariable' | 'keyPrefix'>,
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
  const items = Object.entries(properties ?? {}).map(([name, property]) => {
    const notes = [describeType(property), required.includes(name) ? '' : 'optional'];
    return fieldItem(name, notes, property.description);
  });
  const fields = properties === undefined ? describeType(schema) : items.join('\n');
  return [description.trim(), fields].filter((part) => part !== '').join('\n\n');
}

/** The section of the reference about one operation, and the same as Markdown. */
function describeOperation(
  operation: Operation,
  access: OperationAccess | undefined,
  { keyVariable }: Pick<GuideSettings, 'keyVariable'>,
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
        ${tryIt(operation)} ${exampleResponse(operation)}
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

/**
 * Field for the API key, which only the page itself has. It has no name and its form no address, so that no browser can send the
 * key as a part of an address.
 */
const keyForm = (keyPrefix: string) =>
  html`<form class="panel key" data-key hidden>
      <label
        >API key
        <input
          id="api-key"
          type="password"
          autocomplete="off"
          placeholder="${keyPrefix}…"
          aria-describedby="key-note"
      /></label>
      <p id="key-note" class="quiet">
        To try requests on this page. It is sent to this server only, and is forgotten with the page.
      </p>
    </form>
    <noscript><p class="quiet">Requests can be tried out here with JavaScript only.</p></noscript>`;

function tryIt(operation: Operation): Html {
  const { operationId, method, path, summary } = operation;
  const body = exampleBody(operation);
  return html`<details class="panel try" data-try hidden>
    <summary>Try it</summary>
    <form class="stack" data-method="${method}" data-path="${path}" aria-label="Try it: ${summary}">
      ${operation.parameters.map((parameter) => parameterField(operationId, parameter))}
      ${
        body === undefined
          ? undefined
          : html`<label>Body (JSON) <textarea rows="6" spellcheck="false">${body}</textarea></label>`
      }
      <div class="actions"><button class="primary">Send ${method} ${path}</button></div>
      <p class="quiet">
        A real request with your key: it counts against your
        limits${method === 'GET' ? '' : ', and changes data'}.
      </p>
    </form>
    <p role="status" data-status></p>
    <div data-result></div>
  </details>`;
}

function parameterField(operationId: string, parameter: Parameter): Html {
  const { name, required, schema, choices } = parameter;
  const example = exampleOf(parameter) ?? '';
  // A header is of interest only if it has a value on purpose: an idempotency key that repeats would fail.
  return html`<label
    >${name} <small>${parameter.in}${required ? ', required' : ''}</small>
    <input
      id="${operationId}-${name}"
      data-in="${parameter.in}"
      data-name="${name}"
      value="${required ? example : ''}"
      placeholder="${choices?.join(', ') ?? (example || (schema.default ?? ''))}"
      spellcheck="false"
      autocomplete="off"
      ${required ? html` required` : undefined}
  /></label>`;
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
