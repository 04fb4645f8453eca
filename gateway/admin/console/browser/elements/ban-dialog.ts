import { html } from 'lit';
import { ask } from '../../../../browser/elements/confirm-dialog.ts';
import { field, lengthField } from '../../../../browser/elements/fields.ts';
import type { LightElement } from '../../../../browser/elements/light-element.ts';
import { tell } from '../../../../browser/elements/notice.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { keyTitle } from '../key.ts';
import type { ChangedKey } from '../responses.ts';

/**
 * Asks for how long a key is to be banned, and for a reason that its client reads.
 * @param done called with the key as it is then
 */
export const askToBan = (
  host: LightElement,
  key: { id: string; name: string },
  done: (banned: ChangedKey) => unknown,
) =>
  ask(host, {
    heading: `Ban ${keyTitle(key)}`,
    action: 'Ban the key',
    danger: true,
    asksReason: false,
    message: () =>
      html`<p>From its next request on, the key gets 429 until the ban ends. It replaces any other ban.</p>
        ${lengthField({ autofocus: true })}
        ${field('Reason, which the client reads in its responses', 'reason', { required: true })}`,
    run: async (form) => {
      const body = { seconds: Number(form('seconds')), reason: form('reason') };
      const change = api.put<ChangedKey>(url`/api/keys/${key.id}/ban`, body);
      done(await tell(change, (banned) => `${keyTitle(banned)} is banned`));
    },
  });
