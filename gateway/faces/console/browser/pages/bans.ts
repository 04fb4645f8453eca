import '../elements/policy-settings.ts';
import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { button, listTable } from '../../../browser/elements/table.ts';
import { plural, relativeOr } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { keyLink, keyTitle, planLink } from '../key.ts';
import { addressGroup, banPolicyGroup } from '../policy-groups.ts';
import { readPages } from '../read-pages.ts';
import type { Ban, Changed, Page } from '../responses.ts';
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

  askToLift({ id, name, reason }: Ban) {
    ask(this, {
      heading: `Lift the ban of ${name}?`,
      action: 'Lift the ban',
      message: () =>
        html`<p>
          Banned for: ${reason}. Its requests are served again within a second, and what led to the ban is
          forgotten.
        </p>`,
      run: () =>
        this.saved(
          api.delete<Changed>(url`/api/keys/${id}/ban`),
          `The ban of ${name} was lifted. Its next request is served within a second.`,
        ),
    });
  }

  override render() {
    return html`<h1>Security</h1>
      ${viewerNote()}
      <h2>Bans</h2>
      ${super.render()}
      <p class="quiet">
        A key is banned by hand on its page, or in the menu of its row under <a href="/console/keys">Keys</a>.
      </p>
      <h2>Ban policy</h2>
      <policy-settings .group=${banPolicyGroup}></policy-settings>
      <h2>Requests without a valid key</h2>
      <policy-settings .group=${addressGroup}></policy-settings>`;
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
      ${listTable('Active bans', items, [
        ['Key', keyLink, '', keyTitle],
        ['Plan', ({ plan }) => planLink(plan), '', ({ plan }) => plan],
        ['Ends', ({ endsAt }) => relativeOr(endsAt, 'with its next requests'), '', ({ endsAt }) => endsAt],
        ['Reason', ({ reason }) => reason],
        session.isOperator &&
          button(
            'Lift…',
            ({ name }) => `Lift the ban of ${name}`,
            (ban) => this.askToLift(ban),
          ),
      ])}
      ${next === null ? nothing : html`<button type="button" @click=${this.more}>Show more</button>`}`;
  }
}

customElements.define('page-bans', PageBans);
