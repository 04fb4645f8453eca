import { html, nothing } from 'lit';
import { ActingElement } from '../../browser/elements/acting-element.ts';
import { choice, field } from '../../browser/elements/fields.ts';
import { formTexts } from '../../browser/form-text.ts';
import { currentKey, keepKey } from '../../docs/browser/api-key.ts';
import { apiRequest, describeResponse } from '../../docs/browser/api-request.ts';
import { isApiKey } from '../../docs/browser/key-format.ts';
import { keyPrefix } from './page-settings.ts';

interface Operation {
  method: string;
  path: string;
}

interface Described {
  servers?: { url?: string }[];
  paths?: Record<string, Record<string, unknown>>;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** A form that sends a request to the API with a key of the customer. */
class TryRequest extends ActingElement {
  operations: Operation[] = [];
  chosen: Operation = { method: 'GET', path: '' };
  problem = '';
  response: Awaited<ReturnType<typeof describeResponse>> | undefined;

  override connectedCallback() {
    super.connectedCallback();
    void this.load();
  }

  async load() {
    const description: Described | undefined = await fetch('/openapi.json')
      .then((response) => response.json())
      .catch(() => undefined);
    const base =
      URL.parse(description?.servers?.[0]?.url ?? '', location.href)?.pathname.replace(/\/$/, '') ?? '';
    this.operations = Object.entries(description?.paths ?? {}).flatMap(([path, item]) =>
      methods
        .filter((method) => method in item)
        .map((method) => ({ method: method.toUpperCase(), path: base + path })),
    );
    this.chosen = this.operations[0] ?? this.chosen;
  }

  send(event: SubmitEvent) {
    const text = formTexts(event);
    const [path, body] = [text('path'), text('body')];
    this.problem = problemOf(text('key'), path);
    if (this.problem !== '') return;
    const { method } = this.chosen;
    void this.act(async () => {
      const response = await apiRequest(path, {
        method,
        ...(method === 'GET' || body === '' ? {} : { headers: { 'Content-Type': 'application/json' }, body }),
      });
      this.problem = typeof response === 'string' ? response : '';
      this.response = typeof response === 'string' ? undefined : await describeResponse(response);
    });
  }

  override render() {
    const { chosen, operations, problem, response, busy } = this;
    return html`<h2>Try a request</h2>
      <p class="quiet">It is a request like any other, and counts.</p>
      <form class="stack narrow" @submit=${this.send}>
        ${field('API key', 'key', {
          type: 'password',
          placeholder: currentKey() === '' ? `${keyPrefix}…` : 'the key that you created or pasted last',
          describedBy: 'try-note',
        })}
        <p class="quiet" id="try-note">Stays in this browser tab, and is sent to this API only.</p>
        ${choice(
          'Operation',
          'operation',
          operations.map(({ method, path }, index) => [index, `${method} ${path}`] as const),
          { onChange: (index) => (this.chosen = operations[Number(index)] ?? chosen) },
        )}
        ${field('Path', 'path', { required: true, maxlength: 8000, value: chosen.path })}
        ${
          ['POST', 'PUT', 'PATCH'].includes(chosen.method)
            ? html`<label>Body (JSON) <textarea name="body" rows="4" spellcheck="false"></textarea></label>`
            : nothing
        }
        <p class="failure-text" role="alert">${problem}</p>
        <div>
          <button class="wa-brand" ?disabled=${busy}>${busy ? 'Sending…' : 'Send'}</button>
        </div>
      </form>
      <div role="status">
        ${
          response &&
          html`<p>${response.status}</p>
            ${response.details}`
        }
      </div>`;
  }
}

/** Keeps the key for this and later requests. @returns why the request is not sent; empty if it is */
function problemOf(key: string, path: string): string {
  if (key !== '' && !(key.startsWith(keyPrefix) && isApiKey(key)))
    return 'This is not an API key: is a character of it wrong?';
  if (key !== '') keepKey(key);
  if (currentKey() === '') return 'Paste an API key first.';
  return path.startsWith('/') && !path.includes('{') ? '' : 'Replace what is in braces in the path.';
}

customElements.define('try-request', TryRequest);
