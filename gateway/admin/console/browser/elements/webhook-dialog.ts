import { html, nothing } from 'lit';
import { checkbox, field } from '../../../../browser/elements/fields.ts';
import { SecretDialog } from '../../../../browser/elements/secret-dialog.ts';
import type { FormTexts } from '../../../../browser/form-text.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import type { EventTypeRow, WebhookRow, WebhookWithSecret } from '../responses.ts';

/** Adds a webhook or changes one, and shows a new secret this once. */
export class WebhookDialog extends SecretDialog {
  override readonly secretNoun = 'secret';
  override readonly secretLabel = 'Secret';
  /** The one to change; undefined to add one. */
  webhook: WebhookRow | undefined;
  types: readonly EventTypeRow[] = [];
  made: WebhookWithSecret | undefined;
  /** Called after a change. */
  done: () => unknown = () => {};

  override async submit(form: FormTexts) {
    const types = this.types.map(({ type }) => type).filter((type) => form(type) !== '');
    const wanted = {
      url: form('url'),
      types: types.length === 0 ? null : types,
      description: form('description') || null,
    };
    const { webhook } = this;
    if (webhook === undefined) {
      const customerId = form('customerId').trim() || null;
      this.made = await api.post<WebhookWithSecret>('/api/webhooks', { ...wanted, customerId });
      this.heading = 'The secret of the webhook';
      await this.focusSecret();
    } else {
      await api.patch(url`/api/webhooks/${webhook.id}`, wanted);
      this.remove();
    }
    this.done();
  }

  get secret() {
    return this.made && { text: this.made.secret, warnings: this.made.warnings };
  }

  about() {
    return html`<p>
      It signs the events for <strong>${this.made?.url}</strong>, and <strong>is not shown again</strong>. The
      receiver needs it to check them.
    </p>`;
  }

  override fields() {
    const { webhook, types } = this;
    return html`${field('Address', 'url', {
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
      </fieldset>`;
  }
}

customElements.define('webhook-dialog', WebhookDialog);
