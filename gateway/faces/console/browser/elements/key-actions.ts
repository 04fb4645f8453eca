import { html } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import type { Action } from '../../../browser/elements/menu.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import type { Changed, KeyRow } from '../responses.ts';
import { askForKeyFacts, askToBan } from './edit-dialogs.ts';
import { askToRotate } from './new-key-dialogs.ts';

type Page = PolledElement<unknown>;

/** What can be done with a key; nothing with a revoked one. */
export function keyActions(page: Page, key: KeyRow): Action[] {
  if (key.state === 'revoked') return [];
  const ended = key.state === 'expired';
  return [
    ...(ended
      ? []
      : [
          { text: 'Rotate the key…', act: () => askToRotate(page, key) },
          {
            text: key.state === 'banned' ? 'Ban for another time…' : 'Ban…',
            act: () => askToBan(page, key),
          },
        ]),
    ...(key.state === 'banned' ? [{ text: 'Lift the ban', act: () => liftBan(page, key) }] : []),
    { text: 'Change…', act: () => askForKeyFacts(page, key) },
    { text: 'Revoke…', isDanger: true, act: () => askToRevoke(page, key) },
  ];
}

export const liftBan = (page: Page, key: { id: string; name: string }) =>
  page.make(() => api.delete(`${apiPath(key.id)}/ban`), `The ban of ${keyTitle(key)} is lifted`);

const askToRevoke = (page: Page, key: KeyRow) =>
  ask(page, {
    heading: `Revoke the key of ${keyTitle(key)}?`,
    action: 'Revoke the key',
    danger: true,
    typed: keyTitle(key),
    message: () =>
      html`<p>
        From its next request on, the key is refused with 401, for good. A revoked key cannot be restored.
      </p>`,
    run: () =>
      page.saved(
        api.post<Changed>(`${apiPath(key.id)}/revoke`),
        'The key is revoked: its requests are refused from now on',
      ),
  });
