import '../../../../browser/elements/copy-field.ts';
import { html, nothing } from 'lit';
import { ActingElement } from '../../../../browser/elements/acting-element.ts';
import { CopyField } from '../../../../browser/elements/copy-field.ts';
import { inlineFailure, warningList } from '../../../../browser/elements/page-state.ts';
import { formatTime } from '../../../../browser/format.ts';
import { api } from '../api.ts';
import { apiPath } from '../key.ts';
import type { PortalLink } from '../responses.ts';

/** Makes a link to the portal of a customer. */
export class PortalLinkMaker extends ActingElement {
  static override properties = { item: {} };

  /** Id of the customer. */
  item = '';
  made: PortalLink | undefined;

  async make() {
    await this.act(async () => {
      this.made = await api.post<PortalLink>(`${apiPath(this.item)}/link`);
      await this.updateComplete;
      const field = this.querySelector('copy-field');
      if (field instanceof CopyField) await field.focusButton();
    });
  }

  override render() {
    const { made } = this;
    return html`<div class="actions">
        <button type="button" ?disabled=${this.busy} @click=${this.make}>Make a link to the portal</button>
      </div>
      ${inlineFailure(this.failure)}
      ${
        made === undefined
          ? nothing
          : html`<p>
                For the customer. It works once, until ${formatTime(made.expiresAt, { dateStyle: 'time' })},
                and begins a session of an hour. It is not shown again.
              </p>
              <copy-field label="Link to the portal" .text=${made.link}></copy-field>
              ${warningList(made.warnings)}`
      }`;
  }
}

customElements.define('portal-link', PortalLinkMaker);
