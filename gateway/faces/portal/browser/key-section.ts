import { html, nothing } from 'lit';
import { keyFields, portalFields } from '../../../limits/record-fields.ts';
import { ApiFailure } from '../../browser/api-failure.ts';
import { ask } from '../../browser/elements/ask-dialog.ts';
import { checkbox, field, graceField } from '../../browser/elements/fields.ts';
import { hasEnded, keyColumns, scopesOf } from '../../browser/elements/key-columns.ts';
import { dateField, keptWords } from '../../browser/elements/key-fields.ts';
import { LightElement } from '../../browser/elements/light-element.ts';
import { menuColumn } from '../../browser/elements/menu.ts';
import { notify } from '../../browser/elements/notice.ts';
import { count, listTable } from '../../browser/elements/table.ts';
import { url } from '../../browser/url.ts';
import { api, session } from './api.ts';
import type { Key, NewKey, WantedKey } from './responses.ts';

/** API keys, and what can be done with them. */
class KeySection extends LightElement {
  keys: Key[] = [];
  /** Whether anything can be changed. */
  isActive = true;

  changed() {
    this.dispatchEvent(new CustomEvent('changed'));
  }

  /** Shows a new key. */
  secretOf({ key, name, warnings }: NewKey) {
    this.changed();
    return {
      noun: 'key',
      label: 'New API key',
      text: key,
      about: html`The new API key of ${name}. <strong>It is not shown again.</strong> Copy it, and store it
        where your program finds it.`,
      warnings,
    };
  }

  askToCreate() {
    ask(this, {
      heading: 'Create a key',
      action: 'Create the key',
      asksReason: false,
      message: createFields,
      run: async (form) => {
        const scopes = knownScopes().filter((scope) => form(fieldOf(scope)) !== '');
        const wanted: Required<WantedKey> = {
          name: form('name'),
          expiresAt: form('expiresAt') || null,
          scopes: scopes.length === 0 ? null : scopes,
        };
        return this.secretOf(await api.post<NewKey>('/keys', wanted));
      },
    });
  }

  askToRotate({ id, name }: Key) {
    ask(this, {
      heading: `Rotate ${name}`,
      action: 'Create the new key',
      asksReason: false,
      message: () =>
        html`<p>A new key takes over the ${keptWords(portalFields(keyFields))}.</p>
          ${graceField()}`,
      run: async (form) => {
        const graceSeconds = Number(form('grace'));
        return this.secretOf(
          await api
            .post<NewKey>(url`/keys/${id}/rotate`, { graceSeconds })
            .catch((error: unknown) => this.overtaken(name, error)),
        );
      },
    });
  }

  askToRevoke({ id, name, hint, replacedBy }: Key) {
    ask(this, {
      heading: `Revoke ${name}?`,
      action: 'Revoke the key',
      danger: true,
      asksReason: false,
      message: () =>
        html`<p>
          Requests with <code>${hint || id}</code> are refused from the next one on, for good.
          ${replacedBy === null ? nothing : 'Another key has replaced it.'}
        </p>`,
      run: async () => {
        await api.post(url`/keys/${id}/revoke`).catch((error: unknown) => this.overtaken(name, error));
        notify(`The key ${name} is revoked: its next request is refused.`);
        this.changed();
      },
    });
  }

  /** Says in words of this page that the key is not any more what it shows. */
  overtaken(name: string, error: unknown): never {
    if (!(error instanceof ApiFailure) || error.code !== 'conflict') throw error;
    this.changed();
    throw error.saying(
      `The key ${name} was replaced or has ended in the meantime, perhaps in another tab: the list shows how it is now. If nobody has the key that replaced it, rotate that one, and choose “Ends now”.`,
    );
  }

  override render() {
    return html`<h2>API keys</h2>
      ${
        this.keys.length === 0
          ? html`<p class="quiet">There are none.</p>`
          : listTable('API keys', this.keys, [
              ['Name', ({ id, name }) => name || id],
              ...keyColumns,
              ['Scopes', ({ scopes }) => scopesOf(scopes), 'minor'],
              count('Served today', ({ servedToday }) => servedToday),
              count('Refused today', ({ refusedToday }) => refusedToday, 'number minor'),
              menuColumn(
                ({ name, hint }) => `${name} ${hint}`,
                (key) => this.actions(key),
              ),
            ])
      }
      ${
        this.isActive
          ? html`<div class="actions">
              <button type="button" class="primary" @click=${this.askToCreate}>Create a key…</button>
            </div>`
          : nothing
      }`;
  }

  actions(key: Key) {
    if (!this.isActive || hasEnded(key)) return [];
    return [
      key.replacedBy === null && { text: 'Rotate…', act: () => this.askToRotate(key) },
      { text: 'Revoke…', isDanger: true, act: () => this.askToRevoke(key) },
    ];
  }
}

const knownScopes = () => session.current?.scopes ?? [];
/** Name of the box of a scope. */
const fieldOf = (scope: string) => `scope ${scope}`;

function createFields() {
  const scopes = knownScopes();
  return html`${field('Name', 'name', { required: true, autofocus: true })} ${dateField()}
  ${
    scopes.length === 0
      ? nothing
      : html`<fieldset>
          <legend>What it may do; none chosen is everything</legend>
          ${scopes.map((scope) => checkbox(scope, fieldOf(scope)))}
        </fieldset>`
  }`;
}

customElements.define('key-section', KeySection);
