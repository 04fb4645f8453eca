import type { OperationAccess } from '../../limits/access.ts';
import type { Operation, Parameter } from '../../upstream/api-document.ts';
import { fieldList, type Field } from './field-list.ts';
import { html, type Html } from './html.ts';
import type { KeySettings } from './key-form.ts';
import { codeBlock, renderMarkdown } from './markdown.ts';
import { createSamples, exampleBody, exampleOf } from './samples.ts';
import { describeType, descriptionOf } from './schema-type.ts';

/** What the reference says of an operation beside its description. */
export interface OperationSettings extends Pick<KeySettings, 'keyVariable'> {
  /** Who needs scopes, such as "A token". */
  scopeHolder: string;
  /** Prefix of the keys with which requests are tried; undefined if the page sends none. */
  keyPrefix: string | undefined;
}

/** Section of the reference about one operation. */
export function operationSection(
  operation: Operation,
  access: OperationAccess | undefined,
  { keyVariable, keyPrefix, scopeHolder }: OperationSettings,
): Html {
  const { operationId, summary, method, path, description, deprecated } = operation;
  return html`<section class="operation" aria-labelledby="${operationId}">
    <h2 id="${operationId}"><a class="anchor" href="#${operationId}">${summary}</a></h2>
    <p class="endpoint">
      <span class="method">${method}</span> <code>${path}</code>${
        deprecated ? html` <strong class="deprecated">deprecated</strong>` : undefined
      }
    </p>
    <div class="halves">
      <div>
        ${renderMarkdown(description).body} ${accessOf(access, scopeHolder)} ${parameters(operation)}
        ${requestBody(operation)} ${responses(operation)} ${responseHeaders(operation)}
      </div>
      <div>
        ${samples(operation, keyVariable)} ${keyPrefix === undefined ? undefined : tryIt(operation)}
        ${exampleResponse(operation)}
      </div>
    </div>
  </section> `;
}

/** What the operation asks of a key, or a token. */
function accessOf(access: OperationAccess | undefined, scopeHolder: string): Html | undefined {
  const { scopes = [], cost = 1 } = access ?? {};
  if (scopes.length === 0 && cost === 1) return undefined;
  const names = scopes.map((scope, index) => html`${index === 0 ? '' : ' '}<code>${scope}</code>`);
  return html`<p class="hint">
    ${cost === 1 ? '' : html`Costs ${cost} of the limits’ requests. `}${
      scopes.length === 0 ? '' : html`${scopeHolder} needs ${names}.`
    }
  </p>`;
}

function parameters({ parameters }: Operation): Html | undefined {
  if (parameters.length === 0) return undefined;
  const fields = parameters.map((parameter) => ({
    ...parameter,
    note: `${parameter.in}${parameter.required ? ', required' : ''}`,
  }));
  return html`<h3>Parameters</h3>
    ${fieldList(fields)}`;
}

function requestBody({ requestBody }: Operation): Html | undefined {
  const schema = requestBody?.['application/json']?.schema;
  return schema === undefined
    ? undefined
    : html`<h3>Body</h3>
        <p>JSON: ${describeType(schema)}</p>`;
}

function responses({ responses }: Operation): Html {
  const parts = responses.map(({ status, response }) => {
    const { schema, example } = response.content['application/json'] ?? {};
    // That of a success is beside the request.
    const shown =
      example === undefined || status.startsWith('2') ? undefined : codeBlock(JSON.stringify(example));
    return html`<dt>${status}</dt>
      <dd>
        ${descriptionOf(response)}${
          schema === undefined ? undefined : html`<p>Body: ${describeType(schema)}</p>`
        }${shown}
      </dd>`;
  });
  const succeeds = responses.map(({ status }) => status).filter((status) => status.startsWith('2'));
  return html`<h3>Responses</h3>
    <details>
      <summary>${succeeds.join(', ')} and ${responses.length - succeeds.length} others</summary>
      <dl class="statuses">${parts}</dl>
    </details>`;
}

/** Headers of all responses, each with the statuses that it comes with. */
function responseHeaders({ responses }: Operation): Html {
  const headers = new Map<string, Field & { statuses: string[] }>();
  for (const { status, response } of responses) {
    for (const [name, { description, schema }] of Object.entries(response.headers)) {
      const key = `${name} ${description}`;
      const header = headers.get(key) ?? { name, description, schema, note: '', statuses: [] };
      header.statuses.push(status);
      headers.set(key, header);
    }
  }
  for (const header of headers.values())
    if (header.statuses.length < responses.length) header.note = header.statuses.join(', ');
  return html`<details>
    <summary>Headers of the responses</summary>
    ${fieldList([...headers.values()])}
  </details>`;
}

/** One after another without scripts; in a chosen language with them. */
function samples(operation: Operation, keyVariable: string): Html {
  const panels = createSamples(operation, keyVariable).map(
    ({ language, code }) =>
      html`<div data-language="${language}">
        <noscript><h4>${language}</h4></noscript>
        ${codeBlock(code)}
      </div>`,
  );
  return html`<h3>Request</h3>
    <div data-languages="${operation.summary}">${panels}</div>`;
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

function tryIt(operation: Operation): Html {
  const { operationId, method, path, summary } = operation;
  const body = exampleBody(operation);
  return html`<details class="panel try" data-try-section hidden>
    <summary>Try it</summary>
    <form data-try data-method="${method}" data-path="${path}" aria-label="Try it: ${summary}">
      ${operation.parameters.map((parameter) => parameterField(operationId, parameter))}
      ${
        body === undefined
          ? undefined
          : html`<label for="${operationId}-body">Body (JSON)</label
              ><textarea id="${operationId}-body" data-body rows="6" spellcheck="false">${body}</textarea>`
      }
      <div class="actions"><button type="submit" class="primary">Send ${method} ${path}</button></div>
      <p class="hint">
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
  const id = `${operationId}-${name}`;
  const place = html`id="${id}" data-in="${parameter.in}" data-name="${name}"`;
  const label = html`<label for="${id}"
    >${name} <small>${parameter.in}${required ? ', required' : ''}</small></label
  >`;
  // A header is of interest only if it has a value on purpose: an idempotency key that repeats would fail.
  const value = required ? (exampleOf(parameter) ?? '') : '';
  const placeholder = exampleOf(parameter) ?? schema.default ?? '';
  if (choices === undefined) {
    return html`${label}<input
        ${place}
        value="${value}"
        placeholder="${placeholder}"
        spellcheck="false"
        autocomplete="off"
        ${required ? html` required` : undefined}
      />`;
  }
  const options = choices.map((choice) => html`<option>${choice}</option>`);
  return html`${label}<select ${place}>
      <option value="">any</option>
      ${options}
    </select>`;
}
