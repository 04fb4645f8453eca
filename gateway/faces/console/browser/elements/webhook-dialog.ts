import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { checkbox, field } from '../../../browser/elements/fields.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import type { Changed, EventTypeRow, WebhookRow, WebhookWithSecret } from '../responses.ts';

/** Adds a webhook, and shows its secret, or changes one. @param webhook the one to change */
export const askForWebhook = (
  page: PolledElement<unknown>,
  types: readonly EventTypeRow[],
  webhook?: WebhookRow,
) =>
  ask(page, {
    heading: webhook === undefined ? 'Add a webhook' : 'Change the webhook',
    action: webhook === undefined ? 'Add' : 'Save',
    message: () =>
      html`${field('Address', 'url', {
          type: 'url',
          required: true,
          autofocus: true,
          maxlength: 1000,
          placeholder: 'https://example.com/hook',
          value: webhook?.url,
        })}
        ${
          webhook === undefined
            ? field('Customer (empty for all customers)', 'customerId', { placeholder: 'cus_…' })
            : nothing
        }
        ${field('Description', 'description', { value: webhook?.description ?? '' })}
        <fieldset>
          <legend>Types of events; none chosen is all of them</legend>
          ${types.map(({ type, summary }) =>
            checkbox(html`<span><code>${type}</code> <span class="quiet">${summary}</span></span>`, type, {
              checked: webhook?.types?.includes(type) ?? false,
            }),
          )}
        </fieldset>`,
    run: async (form) => {
      const chosen = types.map(({ type }) => type).filter((type) => form(type) !== '');
      const wanted = {
        url: form('url'),
        types: chosen.length === 0 ? null : chosen,
        description: form('description') || null,
      };
      if (webhook !== undefined) {
        const change = api.patch<Changed>(url`/api/webhooks/${webhook.id}`, wanted);
        return page.saved(change, 'The webhook is changed.');
      }
      const customerId = form('customerId') || null;
      const made = await api.post<WebhookWithSecret>('/api/webhooks', { ...wanted, customerId });
      void page.reload();
      return {
        noun: 'secret',
        label: 'Secret',
        text: made.secret,
        about: html`It signs the events for <strong>${made.url}</strong>, and
          <strong>is not shown again</strong>. The receiver needs it to check them.`,
        warnings: made.warnings,
      };
    },
  });
