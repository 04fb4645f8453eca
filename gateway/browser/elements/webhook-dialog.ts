import { html } from 'lit';
import type { FormTexts } from '../form-text.ts';
import type { EventTypeRow, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { checkbox, field } from './fields.ts';
import { SecretDialog } from './secret-dialog.ts';

/** What calls the API of a page. */
export interface JsonApi {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: unknown): Promise<T>;
  patch<T>(path: string, body: unknown): Promise<T>;
  delete<T>(path: string): Promise<T>;
}

/** Adds a webhook or changes one, and shows a new secret this once. */
export class WebhookDialog extends SecretDialog {
  override readonly secretNoun = 'secret';
  override readonly secretLabel = 'Secret';
  api: JsonApi | undefined;
  /** Path of the webhooks of the owner in the API. */
  path = '';
  /** The one to change; undefined to add one. */
  webhook: WebhookRow | undefined;
  types: readonly EventTypeRow[] = [];
  /** The secret to show, which may be made elsewhere. */
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
    const { webhook, path, api } = this;
    if (api === undefined) return;
    if (webhook === undefined) {
      this.made = await api.post<WebhookWithSecret>(path, wanted);
      this.heading = 'The secret of the webhook';
      await this.focusSecret();
    } else {
      await api.patch(`${path}/${webhook.id}`, wanted);
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
