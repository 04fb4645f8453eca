import { html, nothing } from 'lit';
import { LightElement } from '../../admin/console/browser/elements/light-element.ts';
import { currentKey, keepKey } from '../../docs/browser/api-key.ts';
import { apiRequest, errorLink } from '../../docs/browser/api-request.ts';
import { formatJson } from '../../docs/browser/format-json.ts';
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
class TryRequest extends LightElement {
  static override properties = {
    operations: { state: true },
    chosen: { state: true },
    isBusy: { state: true },
    problem: { state: true },
    response: { state: true },
  };

  operations: Operation[] = [];
  chosen: Operation = { method: 'GET', path: '' };
  isBusy = false;
  problem = '';
  response: { status: string; body: string; headers: string; isOk: boolean } | undefined;

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

  choose({ target }: Event) {
    if (target instanceof HTMLSelectElement)
      this.chosen = this.operations[target.selectedIndex] ?? this.chosen;
  }

  async send(event: SubmitEvent) {
    event.preventDefault();
    const { target: form } = event;
    if (!(form instanceof HTMLFormElement)) return;
    const [key = '', path = '', body = ''] = ['key', 'path', 'body'].map((name) =>
      text(new FormData(form), name),
    );
    if (key !== '' && !(key.startsWith(keyPrefix) && isApiKey(key))) {
      this.problem = 'This is not an API key: is a character of it wrong?';
      return;
    }
    if (key !== '') keepKey(key);
    if (currentKey() === '') {
      this.problem = 'Paste an API key first.';
      return;
    }
    if (!path.startsWith('/') || path.includes('{')) {
      this.problem = 'Replace what is in braces in the path.';
      return;
    }
    this.problem = '';
    this.isBusy = true;
    const { method } = this.chosen;
    const response = await apiRequest(path, {
      method,
      ...(method === 'GET' || body === '' ? {} : { headers: { 'Content-Type': 'application/json' }, body }),
    });
    this.isBusy = false;
    if (typeof response === 'string') {
      this.response = undefined;
      this.problem = response;
      return;
    }
    this.response = {
      status: `${response.status} ${response.statusText}`,
      isOk: response.ok,
      body: await response.text(),
      headers: Array.from(response.headers, ([name, value]) => `${name}: ${value}\n`).join(''),
    };
  }

  override render() {
    const { chosen, problem, response } = this;
    return html`<h2>Try a request</h2>
      <p class="quiet">It is a request like any other, and counts.</p>
      <form class="stack narrow" @submit=${this.send}>
        <label
          >API key
          <input
            name="key"
            type="password"
            autocomplete="off"
            spellcheck="false"
            placeholder=${currentKey() === '' ? `${keyPrefix}…` : 'the key that you created or pasted last'}
            aria-describedby="try-note"
        /></label>
        <p class="quiet" id="try-note">Stays in this browser tab, and is sent to this API only.</p>
        <label
          >Operation
          <select @change=${this.choose}>
            ${this.operations.map(({ method, path }) => html`<option>${method} ${path}</option>`)}
          </select></label
        >
        <label
          >Path <input name="path" required .value=${chosen.path} autocomplete="off" spellcheck="false"
        /></label>
        ${
          ['POST', 'PUT', 'PATCH'].includes(chosen.method)
            ? html`<label>Body (JSON) <textarea name="body" rows="4" spellcheck="false"></textarea></label>`
            : nothing
        }
        <p class="failure-text" role="alert">${problem}</p>
        <div>
          <button class="wa-brand" ?disabled=${this.isBusy}>${this.isBusy ? 'Sending…' : 'Send'}</button>
        </div>
      </form>
      <div role="status">
        ${
          response === undefined
            ? nothing
            : html`<p>
                  <strong>${response.status}</strong> ${response.isOk ? nothing : errorLink(response.body)}
                </p>
                <pre
                  tabindex="0"
                  aria-label="Body of the response"
                ><code>${formatJson(response.body)}</code></pre>
                <details>
                  <summary>Headers of the response</summary>
                  <pre
                    tabindex="0"
                    aria-label="Headers of the response"
                  ><code>${response.headers}</code></pre>
                </details>`
        }
      </div>`;
  }
}

function text(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

customElements.define('try-request', TryRequest);
