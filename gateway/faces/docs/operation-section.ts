import type { Operation } from '../../upstream/api-document.ts';
import type { OperationAccess } from '../../upstream/service-description.ts';
import { html, type Html } from '../html.ts';
import { codeBlock, renderMarkdown } from './markdown.ts';
import { createSamples } from './samples.ts';
import { describeType, fieldItem } from './schema-text.ts';

/**
 * The section of the reference about one operation, and the same as Markdown.
 * @param keyVariable environment variable that holds the API key in samples
 */
export function describeOperation(
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
