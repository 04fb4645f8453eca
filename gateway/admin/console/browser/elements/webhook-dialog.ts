import './copy-field.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import type { EventTypeRow, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { DialogElement } from './dialog-element.ts';
import { inlineFailure, warningList } from './page-state.ts';
import { reasonField } from './reason-field.ts';

/** Adds a webhook or changes one, and shows a new secret this once. Dispatches `changed`. */
export class WebhookDialog extends DialogElement {
  static override properties = {
    path: {},
    webhook: { attribute: false },
    types: { attribute: false },
    made: { state: true },
  };

  /** Path of the webhooks of the owner in the API. */
  path = '';
  /** The one to change; undefined to add one. */
  webhook: WebhookRow | undefined;
  types: EventTypeRow[] = [];
  made: WebhookWithSecret | undefined;

  override show() {
    this.made = undefined;
    super.show();
  }

  /** Shows a secret that was made elsewhere. */
  showSecret(made: WebhookWithSecret) {
    super.show();
    this.made = made;
  }

  async submit(event: SubmitEvent) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    const types = form.getAll('types').map(String);
    const wanted = {
      url: formText(form, 'url'),
      types: types.length === 0 ? null : types,
      description: formText(form, 'description') || null,
    };
    const { webhook, path } = this;
    await this.act(async () => {
      if (webhook === undefined) this.made = await api.post<WebhookWithSecret>(path, wanted);
      else {
        await api.patch(`${path}/${webhook.id}`, wanted);
        this.open = false;
      }
      this.dispatchEvent(new CustomEvent('changed'));
    });
  }

  override render() {
    if (!this.open) return nothing;
    const { made, webhook } = this;
    const heading = webhook === undefined ? 'Add a webhook' : 'Change the webhook';
    return html`<wa-dialog
      label=${made ? 'The secret of the webhook' : heading}
      open
      @wa-after-hide=${this.closed}
    >
      ${made === undefined ? this.renderForm() : this.renderSecret(made)}
    </wa-dialog>`;
  }

  renderForm() {
    const { webhook } = this;
    return html`<form class="stack" @submit=${this.submit}>
      <label
        >Address
        <input
          name="url"
          type="url"
          required
          maxlength="1000"
          autocomplete="off"
          placeholder="https://example.com/hook"
          .value=${webhook?.url ?? ''}
          autofocus
      /></label>
      <label
        >Description <input name="description" maxlength="100" .value=${webhook?.description ?? ''}
      /></label>
      <fieldset>
        <legend>Types of events; none chosen is all of them</legend>
        ${this.types.map(
          ({ type, summary }) =>
            html`<label
              ><input
                type="checkbox"
                name="types"
                value=${type}
                .checked=${webhook?.types?.includes(type) ?? false}
              />
              <code>${type}</code> <span class="quiet">${summary}</span></label
            >`,
        )}
      </fieldset>
      ${reasonField()} ${inlineFailure(this.failure)}
      <div class="dialog-actions">
        <button type="button" class="wa-plain" @click=${() => (this.open = false)}>Cancel</button>
        <button type="submit" class="wa-brand" ?disabled=${this.busy}>
          ${this.busy ? 'Working…' : webhook === undefined ? 'Add' : 'Save'}
        </button>
      </div>
    </form>`;
  }

  renderSecret({ url, secret, warnings }: WebhookWithSecret) {
    return html`<p>
        It signs the events for <strong>${url}</strong>, and <strong>is not shown again</strong>. Give it to
        the owner of the receiver.
      </p>
      <copy-field label="Secret" .text=${secret}></copy-field>
      ${warningList(warnings)}
      <div class="dialog-actions">
        <button type="button" @click=${() => (this.open = false)}>I have stored it</button>
      </div>`;
  }
}

customElements.define('webhook-dialog', WebhookDialog);
