import { html } from 'lit';
import { keyFields } from '../../../../limits/record-fields.ts';
import { ApiFailure } from '../../../browser/api-failure.ts';
import { ask, type Question } from '../../../browser/elements/ask-dialog.ts';
import { field, graceField, lengthField } from '../../../browser/elements/fields.ts';
import { formFields, keptWords, recordFields } from '../../../browser/elements/key-fields.ts';
import type { Action } from '../../../browser/elements/menu.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import type { FormTexts } from '../../../browser/form-text.ts';
import { capitalized } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { apiPath, keyPath, keyTitle } from '../key.ts';
import type { Changed, IssuedKey, KeyRow } from '../responses.ts';
import { router } from '../router.ts';
import { askForFacts } from './facts-dialog.ts';

type Page = PolledElement<unknown>;
type Named = { id: string; name: string };

/** What can be done with a key; nothing with a revoked one. */
export function keyActions(page: Page, key: KeyRow): (Action | false)[] {
  const { state } = key;
  if (state === 'revoked') return [];
  const isBanned = state === 'banned';
  return [
    state !== 'expired' && { text: 'Rotate the key…', act: () => askToRotate(page, key) },
    state !== 'expired' && {
      text: isBanned ? 'Ban for another time…' : 'Ban…',
      act: () => askToBan(page, key),
    },
    isBanned && { text: 'Lift the ban', act: () => liftBan(page, key) },
    { text: 'Change…', act: () => askForKeyFacts(page, key) },
    { text: 'Revoke…', isDanger: true, act: () => askToRevoke(page, key) },
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

/** Asks for how long a key is to be banned, and for a reason that its client reads. */
const askToBan = (page: Page, key: Named) =>
  ask(page, {
    heading: `Ban ${keyTitle(key)}`,
    action: 'Ban the key',
    danger: true,
    asksReason: false,
    message: () =>
      html`<p>From its next request on, the key gets 429 until the ban ends. It replaces any other ban.</p>
        ${lengthField()}
        ${field('Reason, which the client reads in its responses', 'reason', { required: true })}`,
    run: (form) =>
      page.saved(
        api.put<Changed>(`${apiPath(key.id)}/ban`, {
          seconds: Number(form('seconds')),
          reason: form('reason'),
        }),
        `${keyTitle(key)} is banned`,
      ),
  });

/** Asks for what operators give a key of its own. */
const askForKeyFacts = (page: Page, key: KeyRow) =>
  askForFacts(page, key, keyFields, {
    heading: `Change ${keyTitle(key)}`,
    action: `Save ${keptWords(keyFields)}`,
    done: `${capitalized(keptWords(keyFields))} changed`,
    hint: 'Without a time the key does not expire; without scopes it may call all operations.',
  });

export const showKey = ({ id }: Named) => router.navigate(keyPath(id));

/** Issues a further key of a customer. */
export const askToAddKey = (page: Page, of: Named) =>
  askForKey(page, {
    heading: `Add a key for ${keyTitle(of)}`,
    action: 'Issue the key',
    message: () =>
      html`${field('Name of the key', 'name', { placeholder: of.name, autofocus: true })}
        <div class="fields">${recordFields(keyFields)}</div>
        <p class="quiet">It shares the customer's plan, limits and what is used of them.</p>`,
    create: (form) =>
      api.post(`${apiPath(of.id)}/keys`, { name: form('name') || undefined, ...formFields(keyFields, form) }),
    done: () => page.reload(),
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
    create: (form) => api.post(`${apiPath(key.id)}/rotate`, { graceSeconds: Number(form('grace')) }),
    done: showKey,
  });

interface KeyQuestion extends Question {
  create: (form: FormTexts) => Promise<IssuedKey>;
  /** Called with the key when it is stored elsewhere. */
  done: (issued: IssuedKey) => unknown;
}

/** Asks for what a new key needs, and shows it. */
export const askForKey = (page: Page, { create, done, ...question }: KeyQuestion) =>
  ask(page, {
    ...question,
    run: async (form) => {
      const issued = await create(form).catch(sayThatItMayExist);
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
  const mayExist =
    'A key may have been made all the same, which nobody has: look in the audit log or under Keys.';
  throw error.saying(`${error.message} ${mayExist}`);
}
