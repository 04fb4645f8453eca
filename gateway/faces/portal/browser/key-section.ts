import { html, nothing } from 'lit';
import { defaultGraceSeconds, graceLengths } from '../../../limits/lengths.ts';
import { keptWords, keyFields, portalFields } from '../../../limits/record-fields.ts';
import { ask } from '../../browser/elements/ask-dialog.ts';
import { checkbox, choice, dateField, field } from '../../browser/elements/fields.ts';
import { hasEnded, keyColumns } from '../../browser/elements/key-columns.ts';
import { actionButtons, menuColumn } from '../../browser/elements/menu.ts';
import type { PolledElement } from '../../browser/elements/polled-element.ts';
import { count, listTable } from '../../browser/elements/table.ts';
import { ApiFailure, url, type Changed } from '../../browser/request.ts';
import { api, session, type Key, type NewKey, type WantedKey } from './api.ts';

type Page = PolledElement<unknown>;

/** API keys, and what can be done with them. @param isActive whether anything can be changed */
export const keySection = (page: Page, keys: readonly Key[], isActive: boolean) =>
  html`<div class="head row spread">
      <h2 id="keys">API keys</h2>
      ${actionButtons([isActive && { text: 'New key…', tone: 'primary', act: () => askToCreate(page) }])}
    </div>
    ${listTable(
      'API keys',
      keys,
      [
        ['Name', ({ id, name }) => name || id],
        ...keyColumns,
        count('Served today', ({ servedToday }) => servedToday),
        count('Refused today', ({ refusedToday }) => refusedToday, 'number minor'),
        menuColumn<Key>(
          ({ name, hint }) => `${name} ${hint}`,
          (key) =>
            isActive && !hasEnded(key)
              ? [
                  key.replacedBy === null && { text: 'Rotate…', act: () => askToRotate(page, key) },
                  { text: 'Revoke…', tone: 'danger', act: () => askToRevoke(page, key) },
                ]
              : [],
        ),
      ],
      { none: 'There are none.' },
    )}
    <p class="quiet">The counts of each key are a few seconds behind.</p>`;

const askToCreate = (page: Page) =>
  ask(page, {
    heading: 'New key',
    action: 'Create the key',
    asksReason: false,
    message: createFields,
    run: (form) => {
      const scopes = knownScopes().filter((scope) => form(scope) !== '');
      const wanted: Required<WantedKey> = {
        name: form('name'),
        expiresAt: form('expiresAt') || null,
        scopes: scopes.length === 0 ? null : scopes,
      };
      return make(page, api.post<NewKey>('/keys', wanted));
    },
  });

const askToRotate = (page: Page, { id, name }: Key) =>
  ask(page, {
    heading: `Rotate ${name}`,
    action: 'Create the new key',
    asksReason: false,
    message: () =>
      html`<p>A new key takes over the ${keptWords(portalFields(keyFields))}.</p>
        ${choice('The old key (if it has leaked, choose: ends now)', 'grace', graceLengths, {
          value: String(defaultGraceSeconds),
          autofocus: true,
        })}`,
    run: (form) => {
      const rotated = api.post<NewKey>(url`/keys/${id}/rotate`, { graceSeconds: Number(form('grace')) });
      return make(page, unlessOvertaken(page, name, rotated));
    },
  });

const askToRevoke = (page: Page, { id, name, hint, replacedBy }: Key) =>
  ask(page, {
    heading: `Revoke ${name}?`,
    action: 'Revoke the key',
    danger: true,
    asksReason: false,
    message: () =>
      html`<p>
        Requests with <code>${hint || id}</code> are refused from the next one on, for good.
        ${replacedBy === null ? nothing : 'Another key has replaced it.'}
      </p>`,
    run: () =>
      page.saved(
        unlessOvertaken(page, name, api.post<Changed>(url`/keys/${id}/revoke`)),
        `The key ${name} is revoked: its next request is refused.`,
      ),
  });

/** Shows a new key. */
async function make(page: Page, made: Promise<NewKey>) {
  const { key, name, warnings } = await made;
  void page.reload();
  return {
    noun: 'key',
    label: 'New API key',
    text: key,
    about: html`The new API key of ${name}. <strong>It is not shown again.</strong> Copy it, and store it
      where your program finds it.`,
    warnings,
  };
}

/** Says in words of this page that the key is not any more what it shows. */
const unlessOvertaken = <T>(page: Page, name: string, change: Promise<T>) =>
  change.catch((error: unknown): never => {
    if (!(error instanceof ApiFailure) || error.code !== 'conflict') throw error;
    void page.reload();
    error.message = `The key ${name} was replaced or has ended in the meantime, perhaps in another tab: the list shows how it is now. If nobody has the key that replaced it, rotate that one, and choose “Ends now”.`;
    throw error;
  });

const knownScopes = () => session.current?.scopes ?? [];

function createFields() {
  const scopes = knownScopes();
  return html`${field('Name', 'name', { required: true, autofocus: true })} ${dateField()}
  ${
    scopes.length === 0
      ? nothing
      : html`<fieldset>
          <legend>What it may do; none chosen is everything</legend>
          ${scopes.map((scope) => checkbox(scope, scope))}
        </fieldset>`
  }`;
}
