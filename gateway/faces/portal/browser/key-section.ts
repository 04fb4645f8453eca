import { html, nothing } from 'lit';
import { ApiFailure } from '../../browser/api-failure.ts';
import { ask } from '../../browser/elements/ask-dialog.ts';
import { checkbox, field, graceField } from '../../browser/elements/fields.ts';
import { expiryDateField, keyWords } from '../../browser/elements/key-fields.ts';
import { LightElement } from '../../browser/elements/light-element.ts';
import { menuColumn } from '../../browser/elements/menu.ts';
import { notify } from '../../browser/elements/notice.ts';
import { count, listTable, type Column } from '../../browser/elements/table.ts';
import { formatTime, relativeOr } from '../../browser/format.ts';
import { url } from '../../browser/url.ts';
import { api, session } from './api.ts';
import type { Key, NewKey, WantedKey } from './responses.ts';

const states: Record<Key['state'], [label: string, tone: string]> = {
  valid: ['Active', ''],
  suspended: ['Suspended', 'bad'],
  banned: ['Banned', 'bad'],
  expired: ['Expired', 'caution'],
  revoked: ['Revoked', 'bad'],
};

/** API keys, and what can be done with them. */
class KeySection extends LightElement {
  keys: Key[] = [];
  /** Whether anything can be changed. */
  isActive = true;
  showsEnded = false;

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
        const isAll = form('all') !== '';
        const scopes = isAll ? null : knownScopes().filter((scope) => form(fieldOf(scope)) !== '');
        const wanted: Required<WantedKey> = {
          name: form('name'),
          expiresAt: form('expiresAt') || null,
          scopes,
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
        html`<p>A new key takes over the ${keyWords}.</p>
          ${graceField({ autofocus: true })}`,
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
    const ended = this.keys.filter(hasEnded);
    const shown = this.showsEnded ? this.keys : this.keys.filter((key) => !hasEnded(key));
    return html`<h2>API keys</h2>
      ${shown.length === 0 ? html`<p class="quiet">There is none that works.</p>` : this.renderTable(shown)}
      <div class="actions">
        ${
          this.isActive
            ? html`<button type="button" class="primary" @click=${this.askToCreate}>Create a key…</button>`
            : nothing
        }
        ${
          ended.length === 0
            ? nothing
            : html`<button
                type="button"
                aria-pressed=${this.showsEnded ? 'true' : 'false'}
                @click=${() => (this.showsEnded = !this.showsEnded)}
              >
                Show ended keys (${ended.length})
              </button>`
        }
      </div>`;
  }

  renderTable(keys: Key[]) {
    const columns = {
      name: ['Name', ({ id, name }) => name || id],
      hint: ['Key', ({ id, hint }) => html`<code>${hint || id}</code>`],
      state: ['State', stateCell],
      lastUsedAt: ['Last used', ({ lastUsedAt }) => relativeOr(lastUsedAt, 'never'), 'labelled'],
      servedToday: count('Served today', ({ servedToday }) => servedToday),
      refusedToday: count('Refused today', ({ refusedToday }) => refusedToday),
      scopes: ['Scopes', ({ scopes }) => scopes?.join(' ') ?? 'all', 'labelled'],
      expiresAt: ['Expires', ({ expiresAt }) => relativeOr(expiresAt, 'never'), 'labelled'],
      actions: menuColumn(
        ({ name, hint }) => `${name} ${hint}`,
        (key) =>
          this.isActive && !hasEnded(key)
            ? [
                key.replacedBy === null && { text: 'Rotate…', act: () => this.askToRotate(key) },
                { text: 'Revoke…', isDanger: true, act: () => this.askToRevoke(key) },
              ]
            : [],
      ),
    } satisfies Record<keyof WantedKey, Column<Key>> & Record<string, Column<Key>>;
    return listTable('API keys', keys, Object.values(columns));
  }
}

const hasEnded = ({ state }: Key) => state === 'revoked' || state === 'expired';

function stateCell(key: Key) {
  const { state, bannedUntil, replacedBy } = key;
  const [label, tone] = states[state];
  return html`<span class="tag ${tone}">${label}</span>
    ${replacedBy === null || hasEnded(key) ? nothing : 'replaced'}
    ${state === 'banned' && bannedUntil !== null ? html`until ${formatTime(bannedUntil)}` : nothing}`;
}

const knownScopes = () => session.current?.scopes ?? [];
/** Name of the box of a scope. */
const fieldOf = (scope: string) => `scope ${scope}`;

function createFields() {
  const scopes = knownScopes();
  return html`${field('Name', 'name', { required: true, autofocus: true })} ${expiryDateField()}
  ${
    scopes.length === 0
      ? html`<input type="hidden" name="all" value="on" />`
      : html`<fieldset @change=${keepApart}>
          <legend>What it may do</legend>
          ${checkbox('Everything', 'all', { checked: true })}
          <p class="quiet">Or only:</p>
          ${scopes.map((scope) => checkbox(scope, fieldOf(scope)))}
        </fieldset>`
  }`;
}

/** Everything ends the choice of scopes, and a scope ends everything: a key must not do more than was chosen last. */
function keepApart({ target, currentTarget }: Event) {
  if (!(target instanceof HTMLInputElement) || !(currentTarget instanceof HTMLFieldSetElement)) return;
  const boxes = Array.from(currentTarget.querySelectorAll('input'));
  if (target.checked) {
    for (const box of boxes) if ((box.name === 'all') !== (target.name === 'all')) box.checked = false;
  }
  const isNone = boxes.every(({ checked }) => !checked);
  boxes[0]?.setCustomValidity(isNone ? 'Choose what the key may do.' : '');
}

customElements.define('key-section', KeySection);
