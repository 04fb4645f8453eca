import { html, nothing } from 'lit';
import { keyFields, type RecordFields } from '../../../../limits/record-fields.ts';
import { ask, type Question } from '../../../browser/elements/ask-dialog.ts';
import {
  field,
  formFields,
  graceField,
  keptWords,
  lengthField,
  recordFields,
  type FormTexts,
} from '../../../browser/elements/fields.ts';
import type { Action } from '../../../browser/elements/menu.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { capitalized } from '../../../browser/format.ts';
import { ApiFailure } from '../../../browser/request.ts';
import { api } from '../api.ts';
import { apiPath, findOne, keyPath, keyTitle, type Named } from '../key.ts';
import type { Changed, CustomerDetail, IssuedKey, KeyRow } from '../responses.ts';
import { router } from '../router.ts';

type Page = PolledElement<unknown>;

/** What can be done with a key; nothing with a revoked one. */
export function keyActions(page: Page, key: KeyRow): (Action | false)[] {
  const { state } = key;
  if (state === 'revoked') return [];
  const isBanned = state === 'banned';
  return [
    state !== 'expired' && { text: 'Rotate…', act: () => askToRotate(page, key) },
    state !== 'expired' && {
      text: isBanned ? 'Ban for another time…' : 'Ban…',
      act: () => askToBan(page, key),
    },
    isBanned && { text: 'Lift the ban', act: () => liftBan(page, key) },
    { text: 'Change…', act: () => askForKeyFacts(page, key) },
    { text: 'Revoke…', tone: 'danger', act: () => askToRevoke(page, key) },
  ];
}

export const liftBan = (page: Page, key: Named) =>
  page.make(() => api.delete(`${apiPath(key.id)}/ban`), `The ban of ${keyTitle(key)} is lifted`);

const askToRevoke = (page: Page, key: Named) =>
  page.confirm({
    heading: `Revoke the key of ${keyTitle(key)}?`,
    action: 'Revoke the key',
    typed: keyTitle(key),
    says: 'From its next request on, the key is refused with 401, for good. A revoked key cannot be restored.',
    change: () => api.post(`${apiPath(key.id)}/revoke`),
    done: 'The key is revoked: its requests are refused from now on',
  });

/** Asks for how long a key is to be banned, and for a reason that its client reads. @param key asked for, too, if left out */
export const askToBan = (page: Page, key?: Named) =>
  ask(page, {
    heading: key === undefined ? 'Ban a key' : `Ban ${keyTitle(key)}`,
    action: 'Ban the key',
    danger: true,
    asksReason: false,
    message: () =>
      html`<p>From its next request on, the key gets 429 until the ban ends. It replaces any other ban.</p>
        ${key === undefined ? namedField('Key (name, id, hint or the key itself)', 'key') : nothing}
        ${lengthField()}
        ${field('Reason, which the client reads in its responses', 'reason', { required: true })}`,
    run: async (form) => {
      const banned = key ?? (await findOne('key', form('key')));
      const ban = { seconds: Number(form('seconds')), reason: form('reason') };
      await page.saved(api.put<Changed>(`${apiPath(banned.id)}/ban`, ban), `${keyTitle(banned)} is banned`);
    },
  });

/** Asks for what operators give a key of its own. */
const askForKeyFacts = (page: Page, key: KeyRow) =>
  askForFacts(page, key, keyFields, {
    heading: `Change ${keyTitle(key)}`,
    action: `Save ${keptWords(keyFields)}`,
    done: `${capitalized(keptWords(keyFields))} changed`,
    hint: 'Without a time the key does not expire; without scopes it may call all operations.',
  });

/** Asks for what operators give a key or write about a customer. Only what differs is changed. */
export const askForFacts = (
  page: Page,
  record: KeyRow | CustomerDetail,
  fields: RecordFields,
  { done, hint = '', ...question }: Question & { done: string; hint?: string },
) =>
  ask(page, {
    ...question,
    message: () =>
      html`${field('Name', 'name', { required: true, value: record.name, autofocus: true })}
        ${recordFields(fields, record)}
        <p class="quiet">${hint}</p>`,
    run(form, initial) {
      const given = Object.entries({ name: form('name'), ...formFields(fields, form) });
      const changed = given.filter(([name]) => form(name) !== initial(name));
      const body = { rev: record.rev, ...Object.fromEntries(changed) };
      return page.saved(api.patch<Changed>(apiPath(record.id), body), done);
    },
  });

/** A field for what names a key or a customer. */
const namedField = (label: string, name: string) =>
  field(label, name, { required: true, autofocus: true, maxlength: 5000 });

export const showKey = ({ id }: Named) => router.navigate(keyPath(id));

/** Issues a further key of a customer. @param of the customer, which is asked for if left out */
export const askToAddKey = (page: Page, of?: Named) =>
  askForKey(page, {
    heading: of === undefined ? 'New key' : `New key of ${keyTitle(of)}`,
    action: 'Issue the key',
    message: () =>
      html`${of === undefined ? namedField('Customer (name or id)', 'customer') : nothing}
        ${field('Name of the key', 'name', { placeholder: of?.name ?? '', autofocus: true })}
        <div class="grid">${recordFields(keyFields)}</div>
        <p class="quiet">It shares the customer's plan, limits and what is used of them.</p>`,
    path: async (form) => `${apiPath((of ?? (await findOne('customer', form('customer')))).id)}/keys`,
    body: (form) => ({ name: form('name') || undefined, ...formFields(keyFields, form) }),
    done: of === undefined ? showKey : () => page.reload(),
  });

/** Issues a key that replaces another one. */
const askToRotate = (page: Page, key: Named) =>
  askForKey(page, {
    heading: `Rotate the key of ${keyTitle(key)}`,
    action: 'Rotate the key',
    message: () =>
      html`<p>
          A new key takes over the ${keptWords(keyFields)}. Plan, limits and what is used of them are the
          customer's.
        </p>
        ${graceField()}`,
    path: () => `${apiPath(key.id)}/rotate`,
    body: (form) => ({ graceSeconds: Number(form('grace')) }),
    done: showKey,
  });

interface KeyQuestion extends Question {
  path: (form: FormTexts) => string | Promise<string>;
  body: (form: FormTexts) => object;
  /** Called with the key when it is stored elsewhere. */
  done: (issued: IssuedKey) => unknown;
}

/** Asks for what a new key needs, and shows it. */
export const askForKey = (page: Page, { path, body, done, ...question }: KeyQuestion) =>
  ask(page, {
    ...question,
    run: async (form) => {
      const to = await path(form);
      const issued = await api.post<IssuedKey>(to, body(form)).catch(sayThatItMayExist);
      return {
        noun: 'key',
        label: 'API key',
        text: issued.key,
        about: html`The key of <strong>${keyTitle(issued)}</strong> works now.
          <strong>It is not shown again</strong>: only its hash is stored. Copy it before you close this.`,
        warnings: issued.warnings,
        stored: () => done(issued),
      };
    },
  });

/** Without a response, nobody knows whether there is a key. */
function sayThatItMayExist(error: unknown): never {
  if (!(error instanceof ApiFailure) || error.code !== 'unreachable') throw error;
  error.message += ' A key may have been made all the same: look in the audit log or under Keys.';
  throw error;
}
