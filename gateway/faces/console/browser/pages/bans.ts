import '../elements/policy-settings.ts';
import { html, nothing } from 'lit';
import { field } from '../../../browser/elements/fields.ts';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formTexts } from '../../../browser/form-text.ts';
import { plural } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { banTable } from '../elements/ban-table.ts';
import { askToBan } from '../elements/edit-dialogs.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { pastedKey } from '../pasted-key.ts';
import { addressGroup, banPolicyGroup } from '../policy-groups.ts';
import { readPages } from '../read-pages.ts';
import type { Ban, KeyDetail, Page } from '../responses.ts';
import { session } from '../session.ts';

/** Active bans, soonest to expire first, and the limits of those who go too far. */
class PageBans extends PolledElement<Page<Ban>> {
  pages = 1;

  read() {
    return readPages<Ban>('/api/bans?limit=100', this.pages);
  }

  more() {
    this.pages += 1;
    void this.reload();
  }

  /** Finds the key that is to be banned, and asks for how long and why. */
  findToBan(event: SubmitEvent) {
    const text = formTexts(event)('key');
    const pasted = pastedKey(text);
    if (pasted !== undefined) this.querySelector('form')?.reset();
    void this.act(async () => {
      const id =
        pasted === undefined ? text : (await api.post<{ id: string }>('/api/keys/find', { text: pasted })).id;
      askToBan(this, await api.get<KeyDetail>(url`/api/keys/${id}`));
    });
  }

  override render() {
    return html`<h1>Security</h1>
      ${viewerNote()}
      <h2>Bans</h2>
      ${super.render()} ${session.isOperator ? this.banForm() : nothing}
      <h2>Ban policy</h2>
      <policy-settings .group=${banPolicyGroup}></policy-settings>
      <h2>Requests without a valid key</h2>
      <policy-settings .group=${addressGroup}></policy-settings>`;
  }

  banForm() {
    return html`<h2>Ban a key</h2>
      <form class="narrow" @submit=${this.findToBan}>
        ${field('Id of the key, or the API key itself', 'key', {
          required: true,
          maxlength: 200,
          placeholder: 'key_…',
        })}
        <p class="hint">By name, find it under <a href="/console/keys">Keys</a> and ban it there.</p>
        <div class="actions"><button ?disabled=${this.busy}>Ban…</button></div>
      </form>`;
  }

  view({ items, next }: Page<Ban>) {
    if (items.length === 0) {
      return emptyState(
        'No key is banned',
        'A key is banned when it goes on after 429: the policy below says when.',
      );
    }
    return html`<p class="quiet">
        ${plural(items.length, 'ban')}${next === null ? '' : ' of more'}, soonest to expire first.
      </p>
      ${banTable(this, items)}
      ${next === null ? nothing : html`<button type="button" @click=${this.more}>Show more</button>`}`;
  }
}

customElements.define('page-bans', PageBans);
