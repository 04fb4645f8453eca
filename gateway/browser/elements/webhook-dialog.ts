import { html, nothing } from 'lit';
import type { FormTexts } from '../form-text.ts';
import type { EventTypeRow, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { CopyField } from './copy-field.ts';
import { DialogElement } from './dialog-element.ts';
import { checkbox, field } from './fields.ts';
import { warningList } from './page-state.ts';

/** What calls the API of a page. */
export interface JsonApi {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: unknown): Promise<T>;
  patch<T>(path: string, body: unknown): Promise<T>;
  delete<T>(path: string): Promise<T>;
}

/** Adds a webhook or changes one, and shows a new secret this once. */
export class WebhookDialog extends DialogElement {
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
  /** Whether the person has tried to close a secret that is not stored. */
  reminded = false;

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
      await this.updateComplete;
      const secret = this.querySelector('copy-field');
      if (secret instanceof CopyField) await secret.focusButton();
    } else {
      await api.patch(`${path}/${webhook.id}`, wanted);
      this.remove();
    }
    this.done();
  }

  /** Escape and the cross must not lose a secret. */
  override hide(event: Event) {
    if (event.target !== event.currentTarget || this.made === undefined) return;
    event.preventDefault();
    this.reminded = true;
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

  override content() {
    const { made } = this;
    if (made === undefined) return super.content();
    return html`<p>
        It signs the events for <strong>${made.url}</strong>, and <strong>is not shown again</strong>. The
        receiver needs it to check them.
      </p>
      <copy-field label="Secret" .text=${made.secret}></copy-field>
      ${
        this.reminded
          ? html`<p class="failure-text" role="alert">
              Closing this loses the secret. Copy it, and confirm that you have stored it.
            </p>`
          : nothing
      }
      ${warningList(made.warnings)}
      <div class="dialog-actions">
        <button type="button" @click=${() => this.remove()}>I have stored it</button>
      </div>`;
  }
}

customElements.define('webhook-dialog', WebhookDialog);
